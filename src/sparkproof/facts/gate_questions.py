"""What a release asks the outside, and how an operator settles it."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file

_KIND = "call:"
_SETTING = "setting:"


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


class CheckpointSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something of the checkpoint that selections ask about, and that a config may not declare."""

    path: str
    words: str


class GateQuestions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table, and where it was read."""

    source: str
    checked: date
    questions: tuple[GateQuestion, ...]
    settings: tuple[CheckpointSetting, ...] = ()


def split_question(gate: str) -> tuple[str, str]:
    """Function and test of a gate ``call:FUNCTION:TEST``; no function for any other call."""
    function, colon, test = gate.removeprefix(_KIND).partition(":")
    return (function, test) if colon and function.replace(".", "").isidentifier() else ("", gate)


def find_question(gate: str) -> GateQuestion | None:
    """What is known of the function that a gate asks; None for any other gate."""
    function = split_question(gate)[0] if gate.startswith(_KIND) else ""
    return _by_function().get(function.rpartition(".")[2])


def find_setting(gate: str) -> str:
    """What of the checkpoint a gate ``setting:TEST`` asks about, in words; "" for any other."""
    if not gate.startswith(_SETTING):
        return ""
    return next((item.words for item in gate_questions().settings if item.path in gate), "")


@cache
def gate_questions() -> GateQuestions:
    """The whole table."""
    return load_file("gates/questions.toml", GateQuestions)


@cache
def _by_function() -> dict[str, GateQuestion]:
    return {item.function: item for item in gate_questions().questions}
