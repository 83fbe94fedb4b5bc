"""``/proc/meminfo``: what the kernel says about memory."""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.errors import FormatError

_LIMIT_BYTES = 1 << 16
_LINE = re.compile(rb"([A-Za-z_()0-9]+):\s+(\d{1,18})(?: kB)?\s*\Z")


class MemInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes; a field that the kernel does not print is 0.

    Attributes:
        available_bytes: what a new program can have without swapping; vLLM takes this for free
            memory on an integrated GPU.
        cached_bytes: page cache, buffers included.
    """

    total_bytes: int
    available_bytes: int
    free_bytes: int = 0
    cached_bytes: int = 0
    swap_total_bytes: int = 0
    swap_free_bytes: int = 0

    @property
    def used_bytes(self) -> int:
        """What is not available."""
        return self.total_bytes - self.available_bytes


def parse_meminfo(data: bytes, where: str = "meminfo") -> MemInfo:
    """Read the file.

    Raises:
        FormatError: too large, or without MemTotal and MemAvailable.
    """
    if len(data) > _LIMIT_BYTES:
        raise FormatError(f"larger than {_LIMIT_BYTES} bytes", where=where)
    found: dict[str, int] = {}
    for line in data.splitlines():
        match = _LINE.match(line)
        if match:
            found[match[1].decode()] = int(match[2]) * 1024
    for key in ("MemTotal", "MemAvailable"):
        if key not in found:
            raise FormatError(f"no `{key}`", where=where)
    if found["MemAvailable"] > found["MemTotal"]:
        raise FormatError("`MemAvailable` is more than `MemTotal`", where=where)
    return MemInfo(
        total_bytes=found["MemTotal"],
        available_bytes=found["MemAvailable"],
        free_bytes=found.get("MemFree", 0),
        cached_bytes=found.get("Cached", 0) + found.get("Buffers", 0),
        swap_total_bytes=found.get("SwapTotal", 0),
        swap_free_bytes=found.get("SwapFree", 0),
    )
