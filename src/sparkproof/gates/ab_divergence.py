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
from typing import Protocol

from sparkproof.core.ab import (
    ClassShare,
    Divergence,
    DivergenceClass,
    Effect,
    Score,
    Side,
)
from sparkproof.gates.ab_statistics import LEVEL, clopper_pearson

NEAR_TIE_NATS = 0.5
"""Up to this gap rounding may decide: more than twice the largest move measured (0.19), and four
steps of a bf16 logit between 16 and 32."""
SURE_NATS = 2.0
"""From this gap on no rounding decides, nor FP8 in place of bf16 (1.43): odds of seven to one."""

_SLACK = 1e-9


class TokenLike(Protocol):
    """One generated token, as a record of an answer holds it."""

    @property
    def id(self) -> int:
        """As the server's tokenizer numbers it."""
        ...

    @property
    def nats(self) -> float | None:
        """Natural logarithm of its probability; None where the server gave none."""
        ...

    @property
    def top(self) -> Sequence[tuple[int, float]]:
        """The likeliest ids there with theirs; empty where the server gave none."""
        ...


def compare_answers(control: Sequence[TokenLike], treatment: Sequence[TokenLike]) -> Divergence:
    """The first difference of two whole answers to the same prompt, with its class.

    An answer that ends where the other goes on differs there. Answers that were cut by a fault
    (a broken stream) are not for this function. Where a server gives no ids, nothing is known.
    """
    if not control or not treatment:
        nothing = Side(id=-1)
        return classify(
            Divergence(kind=DivergenceClass.UNKNOWN, at=0, control=nothing, treatment=nothing)
        )
    at = _first_difference(control, treatment)
    if at < 0:
        return Divergence(kind=DivergenceClass.IDENTICAL)
    mine = control[at] if at < len(control) else None
    yours = treatment[at] if at < len(treatment) else None
    return classify(
        Divergence(
            kind=DivergenceClass.UNKNOWN,
            at=at,
            control=_side(mine, yours),
            treatment=_side(yours, mine),
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
        return DivergenceClass.UNKNOWN, "no ids or no log-probabilities to judge by"
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


def _first_difference(a: Sequence[TokenLike], b: Sequence[TokenLike]) -> int:
    for at, (one, other) in enumerate(zip(a, b, strict=False)):
        if one.id != other.id:
            return at
    return -1 if len(a) == len(b) else min(len(a), len(b))


def _side(own: TokenLike | None, other: TokenLike | None) -> Side:
    """What one arm's log-probabilities say of the two tokens; None is an answer that has ended."""
    if own is None:
        return Side(id=-1)
    if own.nats is None:
        return Side(id=own.id)
    listed = dict(own.top)
    if other is not None and other.id in listed:
        return Side(id=own.id, nats=own.nats, other_nats=listed[other.id])
    # The end of an answer may be listed under an id that nobody knows here, so there only the
    # probability that is left beside the own token bounds it.
    bound = _left_over([own.nats])
    if other is not None and listed:
        bound = min(*listed.values(), _left_over({**listed, own.id: own.nats}.values()))
    return Side(id=own.id, nats=own.nats, other_nats=bound, bounded=True)


def _left_over(listed: Iterable[float]) -> float:
    left = 1.0 - math.fsum(math.exp(min(0.0, nats)) for nats in listed)
    return math.log(max(left, 1e-6))  # sums of float32 are no better than that


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
