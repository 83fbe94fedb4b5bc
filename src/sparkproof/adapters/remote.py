"""Files behind HTTP, read by range with a small block cache."""

from __future__ import annotations

from collections import OrderedDict

from sparkproof.adapters.http import HttpClient, Remote

BLOCK_BYTES = 128 * 1024
MAX_AHEAD_BYTES = 4 << 20
CACHED_BLOCKS = 128


class RangeSource:
    """A `ByteSource` over HTTP ranges. Reading on where it stopped reads ever further ahead."""

    def __init__(
        self, client: HttpClient, remote: Remote, *, kept_blocks: int = CACHED_BLOCKS
    ) -> None:
        self._client = client
        self._remote = remote
        self._kept_blocks = kept_blocks
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._ahead = BLOCK_BYTES
        self._next = -1
        self.fetched_bytes = 0

    @property
    def size_bytes(self) -> int:
        """As the server says."""
        return self._remote.size_bytes

    def read_at(self, offset: int, length: int) -> bytes:
        """As `ByteSource.read_at`."""
        end = min(offset + length, self.size_bytes)
        if offset >= end:
            return b""
        parts: list[bytes] = []
        for number in range(offset // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1):
            start = number * BLOCK_BYTES
            block = self._block(number, end)
            parts.append(block[max(0, offset - start) : end - start])
        return b"".join(parts)

    def close(self) -> None:
        """Close the client, which is this source's own."""
        self._blocks.clear()
        self._client.close()

    def _block(self, number: int, end: int) -> bytes:
        block = self._blocks.get(number)
        if block is None:
            return self._fetch(number, end)
        self._blocks.move_to_end(number)
        return block

    def _fetch(self, number: int, end: int) -> bytes:
        start = number * BLOCK_BYTES
        self._ahead = min(self._ahead * 2, MAX_AHEAD_BYTES) if start == self._next else BLOCK_BYTES
        wanted = min(max(end - start, self._ahead), MAX_AHEAD_BYTES)
        stop = min(-(-(start + wanted) // BLOCK_BYTES) * BLOCK_BYTES, self.size_bytes)
        data = self._client.read_range(self._remote, start, stop - start)
        self.fetched_bytes += len(data)
        self._next = stop
        for at in range(0, len(data), BLOCK_BYTES):
            self._blocks[number + at // BLOCK_BYTES] = data[at : at + BLOCK_BYTES]
        while len(self._blocks) > self._kept_blocks:
            self._blocks.popitem(last=False)
        return data[:BLOCK_BYTES]
