"""Readers and writers of what people describe a deployment with; one file a format."""
