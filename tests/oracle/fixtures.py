"""The device-code fixtures as bytes, cut-outs made into something that can be scanned."""

from __future__ import annotations

import struct
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/data/device_code"
MANIFEST = ROOT / "tests/data/MANIFEST.toml"
GOLDENS = ROOT / "tests/golden/device_code"

CONTAINER_SUFFIXES = (".so", ".o", ".a", ".fatbin")
_CONTAINER = struct.Struct("<IHHQ")
_MAGIC = 0xBA55ED50
_ENTRY_SIZES = struct.Struct("<IQ")
_ENTRY_SIZES_AT = 4


def manifest() -> list[dict[str, object]]:
    """Birth certificates of what lies in the folder."""
    entries = tomllib.loads(MANIFEST.read_text())["fixture"]
    return [entry for entry in entries if entry["path"].startswith("device_code/")]


def wrap_entry(piece: bytes) -> bytes:
    """A container around one entry; what a head lacks of its payload is zeros."""
    header_bytes, payload_bytes = _ENTRY_SIZES.unpack_from(piece, _ENTRY_SIZES_AT)
    body = piece.ljust(header_bytes + payload_bytes, b"\0")
    return _CONTAINER.pack(_MAGIC, 1, _CONTAINER.size, len(body)) + body


def is_cut_out(path: Path) -> bool:
    """Whether it is one entry, whole or its head, without a container."""
    return path.suffix == ".entry" or (path.suffix == ".head" and path.name.startswith("cuda"))


def containers() -> dict[str, bytes]:
    """Everything that holds containers, by file name; cut-outs are wrapped."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in CONTAINER_SUFFIXES:
            found[path.name] = path.read_bytes()
        elif is_cut_out(path):
            found[path.name] = wrap_entry(path.read_bytes())
    return found


def loose() -> dict[str, bytes]:
    """Loose cubins and PTX by file name."""
    paths = [p for p in sorted(FOLDER.iterdir()) if p.suffix in (".cubin", ".ptx")]
    return {path.name: path.read_bytes() for path in paths}
