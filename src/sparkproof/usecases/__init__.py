"""One file a verb: wires adapters to capabilities. These are the library's public functions."""
