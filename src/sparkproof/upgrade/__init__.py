"""What another release does to a deployment: pure comparison of what was seen of both."""
