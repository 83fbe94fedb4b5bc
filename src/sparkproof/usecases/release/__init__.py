"""What a release is, and what tells it from another."""
