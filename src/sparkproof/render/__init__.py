"""Reports as people and programs read them."""
