"""The surface of one vLLM release, read from its artifact without running it."""

from sparkproof.release.surface import read_surface

__all__ = ["read_surface"]
