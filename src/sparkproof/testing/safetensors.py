"""Headers of safetensors files for tests: the data behind them need not exist."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

_BYTES = {"U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "BF16": 2, "F16": 2, "F32": 4, "I32": 4}


def pack_header(entries: Mapping[str, Any] | bytes) -> bytes:
    """Length and JSON, whatever the entries are."""
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


def shard(
    tensors: Mapping[str, tuple[str, tuple[int, ...]]], *, header_bytes: int = 0
) -> tuple[bytes, int]:
    """The beginning of a file with these tensors, and the size of the whole file.

    Args:
        tensors: name to type and shape, laid out in this order.
        header_bytes: pads length and JSON to this many bytes, as writers do for alignment.
    """
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape) in tensors.items():
        end = at + prod(shape) * _BYTES[dtype]
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    head = pack_header(text.ljust(header_bytes - 8))
    return head, len(head) + at
