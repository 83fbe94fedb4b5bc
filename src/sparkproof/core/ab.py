"""Words of an A/B comparison: tasks, scores, where two answers part, intervals.

Values only; what they mean is decided in the gates. All of it can be kept in a receipt, and judged
again from there.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A confidence interval, its ends included.

    Attributes:
        level: the share of repetitions in which it holds the truth, at least (0.95).
    """

    low: float
    high: float
    level: float


class SpeedRatio(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How fast the treatment is, as a multiple of the control.

    Attributes:
        ratio: geometric mean over rounds; 1.27 is 27 % faster.
        interval: of the ratio; None where one round tells no spread.
        rounds: pairs it rests on.
    """

    ratio: float
    interval: Interval | None
    rounds: int


class ChatMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a chat prompt."""

    role: str
    content: str


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question with its answer, the same for every arm.

    Attributes:
        id: unique within its set.
        kind: what accuracy is shown by, e.g. ``version`` or ``tool-call``.
        prompt: for ``/v1/completions``; "" where there are messages.
        messages: for ``/v1/chat/completions``.
        max_tokens: room for the answer, not for thinking before it.
        stop: texts that end a raw answer.
        expected: the answer as the scorer reads it, JSON as text; "" where nothing is scored.
        scorer: its name; "" for a greedy probe, whose token ids alone are compared.
        tools: the tools offered, as the text of a JSON array; "" for none.
    """

    id: str
    kind: str
    prompt: str = ""
    messages: tuple[ChatMessage, ...] = ()
    max_tokens: int
    stop: tuple[str, ...] = ()
    expected: str = ""
    scorer: str = ""
    tools: str = ""


class Score(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a scorer says of one answer.

    Attributes:
        exact: right, wholly.
        detail: where it first goes wrong, one line; "" where it is right.
    """

    exact: bool
    detail: str = ""


class DivergenceClass(StrEnum):
    """What the first difference between two answers is."""

    IDENTICAL = "identical"
    NEAR_TIE = "near-tie"
    """Both tokens were as good as equally likely: rounding decided."""
    CORRUPTION = "corruption"
    """A token that the arm was sure of stands against another."""
    UNKNOWN = "unknown"
    """No ids or log-probabilities, or neither a tie nor a sure token."""


class Side(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One arm at the first difference.

    Attributes:
        id: its token; -1 where its answer had ended.
        nats: of its own token; None without log-probabilities.
        other_nats: of the other arm's token in this arm's own distribution. Where that token is not
            among the listed ones this is the most it can have had, and `bounded` is true.
    """

    id: int
    nats: float | None = None
    other_nats: float | None = None
    bounded: bool = False


class Divergence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where two answers part, with all that its class rests on.

    Attributes:
        at: 0-based position of the first difference; -1 for identical answers.
        why: one line, lower case.
    """

    kind: DivergenceClass
    at: int = -1
    control: Side | None = None
    treatment: Side | None = None
    why: str = ""


class Effect(StrEnum):
    """What became of the task from the control's answer to the treatment's."""

    UNSCORED = "unscored"
    BOTH_RIGHT = "both-right"
    BOTH_WRONG = "both-wrong"
    BROKE = "broke"
    """The control is right, the treatment wrong."""
    MENDED = "mended"
    """The control is wrong, the treatment right."""


class ClassShare(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many pairs are of one class.

    Attributes:
        broke, mended: of these, how many tasks went wrong, or right, with the treatment.
        share: Clopper-Pearson interval of `count` in all pairs; None where there are no pairs.
    """

    kind: DivergenceClass
    count: int
    broke: int = 0
    mended: int = 0
    share: Interval | None = None
