"""What another release would change for a deployment."""
