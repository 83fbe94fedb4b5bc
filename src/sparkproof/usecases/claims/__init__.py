"""What a claim says of an artifact, and the records of it."""
