"""Where two greedy answers part, and whether rounding or a fault parted them.

At temperature 0 two sound servers may differ: kernels and batches that sum in another order move
each logit a little, and where two tokens are nearly equal, that decides. Such a token was nearly as
likely as its rival in both arms. Where an arm was sure and the other says something else, no
rounding explains it.

How far rounding goes was measured with vLLM 0.26.0 on an H200 (2026-11-29, prompt log-probabilities
of a dense bf16 model with random weights, which ties more than a trained one): with the same
weights through other kernels (CUDA graphs against eager), the gap between two tokens moved by at
most 0.19 nats, and every change of the first token was at a gap below 0.07. The same weights in FP8
moved gaps by at most 1.43, with changes at gaps up to 0.85.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sparkproof.core.ab import (
    AnswerTokens,
    ClassShare,
    Divergence,
    DivergenceClass,
    Effect,
    Score,
    Side,
    TokenChoice,
)
from sparkproof.gates.ab_statistics import LEVEL, clopper_pearson

NEAR_TIE_NATS = 0.5
"""Up to this gap rounding may decide: more than twice the largest move measured (0.19), and four
steps of a bf16 logit between 16 and 32."""
SURE_NATS = 2.0
"""From this gap on no rounding decides, nor FP8 in place of bf16 (1.43): odds of seven to one."""

_SLACK = 1e-9


def compare_answers(control: AnswerTokens, treatment: AnswerTokens) -> Divergence:
    """The first difference of two whole answers to the same prompt, with its class.

    An answer that ends where the other goes on differs there. Answers that were cut by a fault
    (a broken stream) are not for this function.
    """
    at = _first_difference(control.ids, treatment.ids)
    if at < 0:
        return Divergence(kind=DivergenceClass.IDENTICAL)
    mine, yours = _choice_at(control, at), _choice_at(treatment, at)
    return classify(
        Divergence(
            kind=DivergenceClass.UNKNOWN,
            at=at,
            control=_side(control.ids, at, mine, yours, over=at >= len(treatment.ids)),
            treatment=_side(treatment.ids, at, yours, mine, over=at >= len(control.ids)),
        )
    )


def classify(seen: Divergence) -> Divergence:
    """The same difference with its class, from what it holds: a stored one can be judged again.

    Corruption where either arm was sure (a gap of `SURE_NATS` between the two tokens, either way),
    a near-tie where every arm that tells is within `NEAR_TIE_NATS`, unknown otherwise.
    """
    if seen.at < 0:
        return Divergence(kind=DivergenceClass.IDENTICAL)
    gaps = {
        name: (side.nats - side.other_nats, side.bounded)
        for name, side in (("control", seen.control), ("treatment", seen.treatment))
        if side and side.nats is not None and side.other_nats is not None
    }
    kind, why = _class_of(gaps)
    return Divergence(
        kind=kind, at=seen.at, control=seen.control, treatment=seen.treatment, why=why
    )


def _class_of(gaps: dict[str, tuple[float, bool]]) -> tuple[DivergenceClass, str]:
    if not gaps:
        return DivergenceClass.UNKNOWN, "no log-probabilities of the two tokens"
    told = ", ".join(
        f"{'at least ' if bounded else ''}{gap:.2f} nats apart in the {name}"
        for name, (gap, bounded) in gaps.items()
    )
    # a bound holds downwards only: the rival is at least that far below
    if any(gap >= SURE_NATS or (gap <= -SURE_NATS and not low) for gap, low in gaps.values()):
        return DivergenceClass.CORRUPTION, told
    if all(abs(gap) <= NEAR_TIE_NATS + _SLACK and not low for gap, low in gaps.values()):
        return DivergenceClass.NEAR_TIE, told
    return DivergenceClass.UNKNOWN, f"{told}: neither a tie nor a sure token"


def _first_difference(a: Sequence[int], b: Sequence[int]) -> int:
    for at, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return at
    return -1 if len(a) == len(b) else min(len(a), len(b))


def _choice_at(answer: AnswerTokens, at: int) -> TokenChoice | None:
    return answer.choices[at] if at < len(answer.choices) else None


def _side(
    ids: Sequence[int], at: int, own: TokenChoice | None, other: TokenChoice | None, *, over: bool
) -> Side:
    """What one arm's log-probabilities say of the two tokens; `over`: the other arm had ended."""
    token = ids[at] if at < len(ids) else -1
    if own is None or token < 0 or math.isnan(own.nats):
        return Side(id=token)
    if other is None and not over:
        return Side(id=token, nats=own.nats)
    listed = dict(own.top)
    if other is not None and other.key in listed:
        return Side(id=token, nats=own.nats, other_nats=listed[other.key])
    if other is not None and other.key == own.key:  # two ids that the server gives one name
        return Side(id=token, nats=own.nats)
    # The end of an answer may be among the listed tokens under a name that nobody knows, so there
    # only the probability that is left over bounds it.
    bound = _left_over({own.key: own.nats}) if over else _most_unlisted(own)
    return Side(id=token, nats=own.nats, other_nats=bound, bounded=True)


def _most_unlisted(own: TokenChoice) -> float:
    """The most that a token can have which is not among the listed ones, in nats."""
    lowest = min((nats for _, nats in own.top), default=0.0)
    return min(lowest, _left_over({**dict(own.top), own.key: own.nats}))


def _left_over(listed: dict[str, float]) -> float:
    left = 1.0 - math.fsum(math.exp(min(0.0, nats)) for nats in listed.values())
    return math.log(max(left, 1e-6))  # float32 sums are no better than that


def effect_of(control: Score | None, treatment: Score | None) -> Effect:
    """What became of the task; unscored where either answer has no score."""
    if control is None or treatment is None:
        return Effect.UNSCORED
    if control.exact:
        return Effect.BOTH_RIGHT if treatment.exact else Effect.BROKE
    return Effect.MENDED if treatment.exact else Effect.BOTH_WRONG


def count_classes(
    pairs: Iterable[tuple[DivergenceClass, Effect]], level: float = LEVEL
) -> tuple[ClassShare, ...]:
    """One row a class, in the order of `DivergenceClass`, those without a pair included."""
    seen = list(pairs)
    return tuple(
        ClassShare(
            kind=kind,
            count=sum(k is kind for k, _ in seen),
            broke=seen.count((kind, Effect.BROKE)),
            mended=seen.count((kind, Effect.MENDED)),
            share=clopper_pearson(sum(k is kind for k, _ in seen), len(seen), level)
            if seen
            else None,
        )
        for kind in DivergenceClass
    )
