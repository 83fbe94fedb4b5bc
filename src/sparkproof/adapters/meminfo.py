"""Memory of this box, or of another one whose ``/proc/meminfo`` was saved."""

from __future__ import annotations

from pathlib import Path

from sparkproof.adapters.files import read_file
from sparkproof.formats.meminfo import MemInfo, parse_meminfo

_HERE = Path("/proc/meminfo")
_LIMIT_BYTES = 1 << 16
_HINT = "save /proc/meminfo of the box and give it with --meminfo"
_MODEL = Path("/sys/devices/virtual/dmi/id/product_name")
_SPARK = ("dgx spark", "gb10", "dgx_spark")


def read_meminfo(path: Path | None = None) -> MemInfo:
    """Read a saved file, or this box.

    Raises:
        UnreachableError: it can't be read.
        FormatError: it is no meminfo.
    """
    source = path or _HERE
    return parse_meminfo(read_file(source, _LIMIT_BYTES, hint=_HINT), source.name)


def is_spark() -> bool:
    """Whether this machine calls itself a DGX Spark."""
    try:
        name = _MODEL.read_text(errors="replace").lower()
    except OSError:
        return False
    return any(word in name for word in _SPARK)
