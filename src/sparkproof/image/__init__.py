"""What is really in a container image, against what it says of itself."""
