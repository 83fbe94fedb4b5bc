"""What a release asks the outside, and how an operator settles it."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file

_KIND = "call:"


class GateQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One function of vLLM whose answer is neither in the release nor in the box's description.

    Attributes:
        asks: what it looks for, in words.
        settle: what an operator can state so that the answer is known.
        avoid: arguments of ``vllm serve`` with which it is not asked.
    """

    function: str
    asks: str
    settle: str
    avoid: tuple[str, ...] = ()

    @property
    def remedy(self) -> str:
        """Both ways out in one line."""
        avoid = f", or avoid it with {' '.join(self.avoid)}" if self.avoid else ""
        return f"{self.settle}{avoid}"


class GateQuestions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table, and where it was read."""

    source: str
    checked: date
    questions: tuple[GateQuestion, ...]


def split_question(gate: str) -> tuple[str, str]:
    """Function and test of a gate ``call:FUNCTION:TEST``; no function for any other call."""
    function, colon, test = gate.removeprefix(_KIND).partition(":")
    return (function, test) if colon and function.replace(".", "").isidentifier() else ("", gate)


def find_question(gate: str) -> GateQuestion | None:
    """What is known of the function that a gate asks; None for any other gate."""
    function = split_question(gate)[0] if gate.startswith(_KIND) else ""
    return _by_function().get(function.rpartition(".")[2])


@cache
def _by_function() -> dict[str, GateQuestion]:
    table = load_file("gates/questions.toml", GateQuestions)
    return {item.function: item for item in table.questions}
