"""Member names that stay inside their archive."""

from __future__ import annotations

import re

from sparkproof.core.errors import FormatError

_BAD = re.compile(
    r"""
      \A\Z                # nothing
    | \A/                 # absolute
    | \A[A-Za-z]:         # a drive
    | \\                  # a separator elsewhere
    | [\x00-\x1f\x7f]     # control characters
    | (?:\A|/)\.{0,2}(?:/|\Z)  # empty, current and parent parts
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+=@-]*)*\Z")
"""Nearly every name there is; told in a quarter of the time."""
MAX_PATH_CHARS = 4096


def is_safe_path(path: str) -> bool:
    """Whether `path` is relative, normalised and printable."""
    if len(path) > MAX_PATH_CHARS:
        return False
    return bool(_PLAIN.match(path)) or not _BAD.search(path)


def check_member_path(path: str, offset: int) -> None:
    """Refuse a name that could lead out of its archive.

    Raises:
        FormatError: names the member and the `offset` of its header.
    """
    if not is_safe_path(path):
        shown = path[:200].encode("unicode_escape").decode()
        raise FormatError("name leads out of the archive", where=shown, offset=offset)
