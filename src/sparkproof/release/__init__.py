"""The surface of one vLLM release, read from its artifact without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparkproof.release.surface import read_surface

__all__ = ["read_surface"]


def __getattr__(name: str) -> Any:
    """Import the reader when it is asked for: shipped surfaces do without it."""
    if name == "read_surface":
        from sparkproof.release.surface import read_surface  # noqa: PLC0415

        return read_surface
    raise AttributeError(name)
