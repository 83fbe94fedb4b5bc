"""Unix archives (``.a``): where each member ends, in a stream."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.errors import FormatError
from sparkproof.formats.cursor import ByteCursor

MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60
_MARK = b"`\n"
MAX_MEMBERS = 1 << 14


def walk_members(cursor: ByteCursor, end: int) -> Iterator[int]:
    """Stop at the first byte of each member and yield the offset where it ends.

    The caller may move the cursor up to that offset before it asks for the next.

    Raises:
        FormatError: a member header that is none, or a size beyond `end`.
    """
    cursor.skip(len(MAGIC))
    count = 0
    while cursor.position + _HEADER_BYTES <= end:
        at = cursor.position
        header = cursor.take(_HEADER_BYTES)
        digits = header[48:58].strip(b" ")
        if header[58:60] != _MARK or not digits.isdigit():
            raise FormatError("damaged archive member header", offset=at)
        stop = cursor.position + int(digits)
        if stop > end:
            raise FormatError(f"archive member claims to end at {stop:#x}", offset=at)
        count += 1
        if count > MAX_MEMBERS:
            raise FormatError(f"archive of more than {MAX_MEMBERS} members", offset=at)
        yield stop
        cursor.skip(stop + (stop & 1) - cursor.position)
