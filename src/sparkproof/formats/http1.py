"""HTTP/1.1 answers: the head, and bodies cut into chunks. Bytes in, struct or FormatError out."""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.errors import FormatError

HEAD_LIMIT_BYTES = 64 << 10
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: [^\r\n]*)?\Z")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\Z")
_LINE_LIMIT = 4096
_BODILESS = (204, 304)


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Status and headers; names in lower case, values as they stand, the first of each name.

    Attributes:
        length: of the body; -1 where it is chunked or ends with the connection.
        keeps: the connection may be used again.
    """

    status: int
    headers: dict[str, str]
    length: int = -1
    chunked: bool = False
    keeps: bool = True


def parse_head(data: bytes) -> Head:
    """Read a head, without the blank line that ends it.

    Raises:
        FormatError: no head of an HTTP/1 answer.
    """
    first, *lines = data.split(b"\r\n")
    found = _STATUS.match(first)
    if not found:
        raise FormatError(f"no HTTP/1 answer: {first[:40]!r}", where="answer", offset=0)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name.strip() != name:
            raise FormatError(f"no header: {line[:40]!r}", where="answer", offset=0)
        headers.setdefault(name.decode("latin-1").lower(), value.strip().decode("latin-1"))
    status = int(found[2])
    chunked = headers.get("transfer-encoding", "").lower().endswith("chunked")
    stays = headers.get("connection", "").lower() != "close" and found[1] == b"1"
    length = _length(status, headers, chunked=chunked)
    return Head(status, headers, length, chunked, stays and (chunked or length >= 0))


def _length(status: int, headers: dict[str, str], *, chunked: bool) -> int:
    if status in _BODILESS or status < 200:
        return 0
    text = headers.get("content-length", "")
    if chunked or not text:
        return -1
    if not text.isdecimal() or len(text) > 15:
        raise FormatError(f"no length: {text[:40]!r}", where="answer", offset=0)
    return int(text)


class ChunkedReader:
    """Takes a chunked body as it comes and gives the bytes in it; any cut gives the same."""

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0
        self._ending = False
        self._eaten = 0
        self.done = False

    def feed(self, data: bytes) -> bytes:
        """The body's bytes in `data`.

        Raises:
            FormatError: no chunk where one should be.
        """
        if self._rest:
            data = self._rest + data
            self._rest = b""
        found: list[bytes] = []
        place = 0
        while place < len(data) and not self.done:
            if self._left:
                piece = data[place : place + self._left]
                found.append(piece)
                self._left -= len(piece)
                place += len(piece)
                self._ending = not self._left
                continue
            after = self._line(data, place)
            if after < 0:
                self._rest = data[place:]
                break
            place = after
        self._eaten += place
        return b"".join(found)

    def _line(self, data: bytes, place: int) -> int:
        """Take one line that is no data; where it ends, or -1 while it is not whole."""
        end = data.find(b"\r\n", place)
        if end < 0:
            if len(data) - place > _LINE_LIMIT:
                raise self._fault(data, place)
            return -1
        line = data[place:end]
        if self._ending:
            if line:
                raise self._fault(data, place)
            self._ending = False
        elif self._left == 0 and self._trailing:
            self.done = not line
        else:
            size = _SIZE.match(line)
            if not size:
                raise self._fault(data, place)
            self._left = int(size[1], 16)
            self._trailing = not self._left
        return end + 2

    _trailing = False

    def _fault(self, data: bytes, place: int) -> FormatError:
        return FormatError(
            f"no chunk: {data[place : place + 20]!r}", where="answer", offset=self._eaten + place
        )
