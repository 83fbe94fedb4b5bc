"""The three links of a deployment joined, before it runs and while it does."""
