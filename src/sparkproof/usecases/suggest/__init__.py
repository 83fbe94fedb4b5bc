"""A deployment for a checkpoint that names none."""
