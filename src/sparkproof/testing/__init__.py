"""Shipped for tests, ours and others: artifacts without a disk, a file server that misbehaves."""
