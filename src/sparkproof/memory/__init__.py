"""Memory of a deployment: KV arithmetic to the digit, and the budget in time."""
