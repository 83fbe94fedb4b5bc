"""Payloads of the commands' reports, one file a command."""
