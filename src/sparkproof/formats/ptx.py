"""PTX text: its target and the names of its kernels, without reading the code between."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from sparkproof.core.capability import Arch
from sparkproof.core.errors import FormatError

_HEAD_BYTES = 4096
_TARGET = re.compile(rb"^\.target[ \t]+(sm_\d{2,3}[af]?)\b", re.MULTILINE)
_VERSION = re.compile(rb"^\.version[ \t]+(\d{1,2})\.(\d{1,2})\b", re.MULTILINE)
_TOOL = re.compile(rb"\bV(\d+\.\d+\.\d+)\b")
# A literal on purpose: an anchored multi-line pattern takes a minute on one large library.
_ENTRY = re.compile(rb"\.entry[ \t]")
_NAME = re.compile(rb"[ \t]*([A-Za-z0-9_$%]+)")
MAX_KERNELS = 1 << 16
_LONGEST_LINE_BYTES = 1 << 17


class PtxHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The directives on top, and the toolkit named in the comment above them ("" if none)."""

    arch: Arch
    isa_version: tuple[int, int]
    toolkit: str = ""


def parse_ptx_header(text: bytes) -> PtxHeader:
    """Parse the first 4 KiB.

    Raises:
        FormatError: no ``.version`` or ``.target`` there.
    """
    head = text[:_HEAD_BYTES]
    version, target = _VERSION.search(head), _TARGET.search(head)
    if not version or not target:
        raise FormatError("no PTX: `.version` and `.target` are missing", offset=0)
    tool = _TOOL.search(head)
    return PtxHeader(
        arch=Arch.parse(target[1].decode()),
        isa_version=(int(version[1]), int(version[2])),
        toolkit=tool[1].decode() if tool else "",
    )


class PtxScan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole text: its header and the names of its kernels, in order, each once."""

    header: PtxHeader
    kernels: tuple[str, ...]


def parse_ptx(pieces: Iterable[bytes]) -> PtxScan:
    """Scan a text that comes in pieces.

    Raises:
        FormatError: no PTX, or more than `MAX_KERNELS` kernels.
    """
    names: dict[str, None] = {}
    left = MAX_KERNELS
    header: PtxHeader | None = None
    rest = b""
    for piece in pieces:
        # Only the line that crosses the border is copied.
        first = piece.find(b"\n") + 1
        border = rest + piece[:first]
        if header is None:
            header = parse_ptx_header(rest + piece[:_HEAD_BYTES])
        last = piece.rfind(b"\n") + 1
        if not first or len(piece) - last > _LONGEST_LINE_BYTES:
            raise FormatError("PTX line without an end")
        left -= _note_kernels(border, 0, len(border), names, left)
        left -= _note_kernels(piece, first, last, names, left)
        rest = piece[last:]
    if header is None:
        raise FormatError("PTX text is empty", offset=0)
    _note_kernels(rest, 0, len(rest), names, left)
    return PtxScan(header, tuple(names))


def _note_kernels(text: bytes, start: int, end: int, names: dict[str, None], most: int) -> int:
    """Add to `names`; returns how often ``.entry`` stands there: each costs, named or not."""
    count = 0
    for match in _ENTRY.finditer(text, start, end):
        count += 1
        if count > most:
            raise FormatError(f"more than {MAX_KERNELS} kernels in one PTX text")
        line_start = text.rfind(b"\n", start, match.start()) + 1
        if text.startswith(b"//", max(line_start, start)):
            continue
        name = _NAME.match(text, match.end())
        if name:
            names[name[1].decode()] = None
    return count
