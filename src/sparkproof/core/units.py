"""Numbers as people read them."""

from __future__ import annotations

MAX_GIB = 1 << 20
"""More than any box: a larger amount of memory is a slip of the unit."""
MIN_BOX_GIB = 1 / 1024
"""Less than any box has in all: a smaller one is a slip too."""
_STEPS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def format_bytes(count: int) -> str:
    """``333 MiB``, ``1.3 GiB``: binary units, three significant digits."""
    for unit, size in _STEPS:
        value = count / size
        if abs(value) >= 0.9995:  # below, it would print as 1024 of the smaller unit
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{count} B"


def plural(count: int, noun: str) -> str:
    """``1 kernel``, ``24 kernels``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
