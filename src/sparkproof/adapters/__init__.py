"""Everything that touches the world: files, HTTP, pip, the clock, receipts on disk."""
