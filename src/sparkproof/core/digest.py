"""Canonical JSON and the digests of it.

Canonical means: UTF-8, keys sorted, no spaces, no NaN, arrays in their own order. The same
value always gives the same bytes, so a digest can be checked on another box.
"""

from __future__ import annotations

import hashlib
import json
import math

import msgspec

from sparkproof.core.errors import FormatError


def canonical_json(value: object) -> bytes:
    """Bytes of `value` (a struct, or what JSON knows) in canonical form.

    Raises:
        FormatError: the value holds a NaN, an infinity or a lone surrogate, which JSON can't.
    """
    plain = msgspec.to_builtins(value, str_keys=True)
    _refuse_non_finite(plain)
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise FormatError("text that is no UTF-8 can't be written as JSON") from error


def sha256_hex(data: bytes) -> str:
    """Lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """``sha256:<hex>`` of the canonical form of `value`."""
    return "sha256:" + sha256_hex(canonical_json(value))


def _refuse_non_finite(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise FormatError(f"{value} can't be written as JSON")
    if isinstance(value, dict):
        for item in value.values():
            _refuse_non_finite(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_non_finite(item)
