"""One file a command; registered in `sparkproof.cli.registry`."""
