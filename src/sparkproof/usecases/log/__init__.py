"""What a log says, and why a server died."""
