"""Is this text, or what a broken kernel writes? Several questions, none of which decides alone.

A known continuation asks whether the model knows what any model knows; characters, repetition and
the entropy of the token ids ask whether it writes at all; the log-probability of a text that writes
itself asks the weights without any sampling.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.formats.text_form import text_faults


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt for the raw endpoint, and a pattern that its continuation holds."""

    name: str
    prompt: str
    holds: str


QUESTIONS = (
    Question("count", "Count from 44:\n", r"45\D{1,4}46\D{1,4}47"),
    Question("count-on", "Count from 12:\n12 13 14 15 16", r"\A\D{0,4}17\D{1,4}18"),
    Question("capital-of-peru", "What is the capital of Peru?\n", r"(?i)\blima\b"),
    Question("capital-of-japan", "What is the capital of Japan?\n", r"(?i)\btokyo\b"),
    Question("capital-of-france", "The capital of France is", r"(?i)\A.{0,40}\bparis\b"),
    Question("week", "Monday, Tuesday, Wednesday,", r"(?i)\A\s*thursday"),
)
QUESTION_TOKENS = 40
NOISE_TOKENS = 64
KNOWN_TEXT = "Count from 20:\n20 21 22 23 24 25 26 27 28 29 30 31"
"""Its second half writes itself, for any model that is one."""

_FLAT_BITS = 1.0
_MIN_TOKENS = 16
_FLUENT_NATS = -2.5
_LOST_NATS = -5.0
_RUN_REPEATS = 16


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One raw continuation."""

    name: str
    text: str
    token_ids: tuple[int, ...] = ()


def entropy_bits(token_ids: Sequence[int]) -> float:
    """Shannon entropy of the ids' frequencies, in bits."""
    total = len(token_ids)
    if not total:
        return 0.0
    return -sum(n / total * math.log2(n / total) for n in Counter(token_ids).values())


def faults_of(sample: Sample) -> tuple[str, ...]:
    """What is wrong with a text's form, in words."""
    faults = text_faults(sample.text, repeats=_RUN_REPEATS)
    ids = sample.token_ids
    if len(ids) >= _MIN_TOKENS and (bits := entropy_bits(ids)) < _FLAT_BITS:
        faults = (*faults, f"{bits:.1f} bits a token")
    return faults


def judge_coherence(samples: Sequence[Sample], known_nats: float | None) -> tuple[Criterion, ...]:
    """Three questions: does it know, does it write, do the weights carry a text.

    Args:
        samples: continuations, those of `QUESTIONS` by their names.
        known_nats: mean log-probability of the second half of `KNOWN_TEXT`; None if unknown.
    """
    return (_knows(samples), _writes(samples), _carries(known_nats))


def _knows(samples: Sequence[Sample]) -> Criterion:
    asked = {question.name: question for question in QUESTIONS}
    told = [sample for sample in samples if sample.name in asked]
    right = [s.name for s in told if re.search(asked[s.name].holds, s.text)]
    if not told:
        return Criterion("smoke/known", Verdict.INCONCLUSIVE, "no continuation came back")
    reason = f"{len(right)} of {len(told)} known continuations"
    if len(right) > 1:
        return Criterion("smoke/known", Verdict.PASS, reason)
    verdict = Verdict.INCONCLUSIVE if right else Verdict.FAIL
    return Criterion("smoke/known", verdict, reason)


def _writes(samples: Sequence[Sample]) -> Criterion:
    faulty = {sample.name: faults for sample in samples if (faults := faults_of(sample))}
    if not samples:
        return Criterion("smoke/form", Verdict.INCONCLUSIVE, "no text to look at")
    if not faulty:
        return Criterion("smoke/form", Verdict.PASS, f"{len(samples)} texts look like text")
    name, faults = next(iter(faulty.items()))
    reason = f"{len(faulty)} of {len(samples)} texts do not look like text ({name}: {faults[0]})"
    verdict = Verdict.FAIL if 2 * len(faulty) >= len(samples) else Verdict.INCONCLUSIVE
    return Criterion("smoke/form", verdict, reason)


def _carries(nats: float | None) -> Criterion:
    name = "smoke/known-text"
    if nats is None:
        return Criterion(name, Verdict.SKIPPED, "the server gives no log-probabilities of prompts")
    reason = f"a text that writes itself: {nats:.2f} nats a token"
    if nats >= _FLUENT_NATS:
        return Criterion(name, Verdict.PASS, reason)
    return Criterion(name, Verdict.FAIL if nats < _LOST_NATS else Verdict.INCONCLUSIVE, reason)
