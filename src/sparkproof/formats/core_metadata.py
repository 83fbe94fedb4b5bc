"""Name and version from a distribution's METADATA or PKG-INFO.

Format: PyPA core metadata specification 2.4, header fields as in RFC 822; checked 2026-11-29.
"""

from __future__ import annotations

import msgspec

_MAX_HEADER_LINES = 5000


class CoreMetadata(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who a distribution says it is; empty where it doesn't."""

    name: str = ""
    version: str = ""


def parse_core_metadata(data: bytes) -> CoreMetadata:
    """Read the header fields; the description after them is left alone."""
    fields: dict[str, str] = {}
    for line in data.decode(errors="replace").splitlines()[:_MAX_HEADER_LINES]:
        if not line.strip():
            break
        key, separator, value = line.partition(":")
        if separator and not line[0].isspace():
            fields.setdefault(key.strip().lower(), value.strip()[:200])
    return CoreMetadata(fields.get("name", ""), fields.get("version", ""))
