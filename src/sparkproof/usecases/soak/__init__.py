"""Load that proves its own pressure, and what the server did under it."""
