"""What could not be examined: it never passes for "nothing found" and never kills a run."""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import FormatError


class Unknown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that was looked at and could not be told.

    Attributes:
        where: coordinates: file, member, symbol, byte offset or line.
        why: one line, lower case.
        topic: what the answer would have been about, e.g. ``devicecode`` or ``select/moe``;
            a verdict is inconclusive only when the topic lies on the selected route.
        hint: the way to find out, if there is one.
    """

    where: str
    why: str
    topic: str = ""
    hint: str = ""

    @classmethod
    def from_error(cls, error: FormatError, topic: str) -> Unknown:
        """Keep a parser's complaint as an answer."""
        place = error.where + (f"@{error.offset:#x}" if error.offset >= 0 else "")
        place += f":{error.line}" if error.line else ""
        return cls(where=place, why=error.reason, topic=topic, hint=error.hint)
