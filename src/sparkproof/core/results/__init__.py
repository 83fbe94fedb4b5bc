"""Payloads of the commands' reports, one file a command.

Each module ends with ``DOCUMENTS``, command to payload type: the published schemas follow it.
"""
