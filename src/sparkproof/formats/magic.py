"""What a file is that is no text: by its first bytes, and by the control bytes in it."""

from __future__ import annotations

import re
from typing import NamedTuple

HEAD_BYTES = 16 << 10
"""As much of the beginning is looked at."""
_HOLE = re.compile(rb"\0{64,}")
_CONTROL = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b"))
_CONTROL_SHARE = 0.05
_HALF_ZERO = 0.35


class Kind(NamedTuple):
    """What it is, with its article, and how to get a text of it ("" for not at all)."""

    name: str
    way_out: str = ""


_GZIP = Kind("gzip-compressed", "zcat FILE | sparkproof log -")
_UTF16 = Kind("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE | sparkproof log -")
_MAGIC = (
    (rb"\x1f\x8b", _GZIP),
    (rb"\x28\xb5\x2f\xfd", Kind("zstd-compressed", "zstdcat FILE | sparkproof log -")),
    (rb"\xfd7zXZ\0", Kind("xz-compressed", "xzcat FILE | sparkproof log -")),
    (rb"BZh[1-9]1AY&SY", Kind("bzip2-compressed", "bzcat FILE | sparkproof log -")),
    (rb"PK\x03\x04", Kind("a ZIP archive", "unzip -p FILE NAME | sparkproof log -")),
    (rb".{257}ustar", Kind("a tar archive", "tar -xOf FILE NAME | sparkproof log -")),
    (rb"\xff\xfe|\xfe\xff", _UTF16),
    (rb"\x7fELF", Kind("a program or library (ELF)")),
    (rb"MZ.{0,62}\0", Kind("a program for Windows")),
    (
        rb"LPKSHHRH",
        Kind("a journal file", "journalctl --file FILE -o short-iso | sparkproof log -"),
    ),
    (rb"SQLite format 3\0", Kind("an SQLite database")),
    (rb"%PDF-", Kind("a PDF document")),
    (rb"\x89PNG\r\n|\xff\xd8\xff", Kind("a picture")),
)
_KINDS = tuple((re.compile(pattern, re.DOTALL), kind) for pattern, kind in _MAGIC)
_BINARY = Kind("binary data")


def known_kind(head: bytes) -> Kind | None:
    """By the first bytes alone; None for a text, and for what begins like none that we know."""
    return next((kind for pattern, kind in _KINDS if pattern.match(head)), None)


def kind_by_bytes(head: bytes) -> Kind | None:
    """By the control bytes, of which a text has hardly any; a hole that a crash left is none."""
    solid = _HOLE.sub(b"", head)
    control = len(solid) - len(solid.translate(None, _CONTROL))
    if not solid or control < _CONTROL_SHARE * len(solid):
        return None
    zeros = max(solid[0::2].count(0), solid[1::2].count(0))
    return _UTF16 if zeros >= _HALF_ZERO * len(solid) else _BINARY
