"""Whether a deployment fits: its KV cache, and its memory in time."""
