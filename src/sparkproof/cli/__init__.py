"""The command line: thin, over the same use cases that the library offers."""
