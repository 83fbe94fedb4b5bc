"""Garbage is told from text, and one trained model from another."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.load.test_observe import LIVE

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.fingerprint import Fingerprint, PromptTrace
from sparkproof.core.verdict import Verdict, fold
from sparkproof.gates.coherence import Sample, entropy_bits, faults_of, judge_coherence
from sparkproof.gates.fingerprint import compare_fingerprints, judge_change, read_trace

GOOD = (
    Sample("count", "44 45 46 47 48", tuple(range(40))),
    Sample("capital-of-peru", "The capital of Peru is Lima.", tuple(range(40))),
    Sample("week", " Thursday, Friday", tuple(range(40))),
    Sample("count-on", " 99 100", tuple(range(40))),
)


def test_a_sound_model() -> None:
    assert fold(c.verdict for c in judge_coherence(GOOD, -0.3)) is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("!!!!!!!!!!!!!!!!!!!!!!!!", (0,) * 24),
        ("\x01\x02\ufffd\ufffd abc \x03\ufffd", tuple(range(20))),
        (" the the the the the the the the the the the the the the the the the", (5,) * 17),
    ],
)
def test_garbage_in_every_form(text: str, ids: tuple[int, ...]) -> None:
    assert faults_of(Sample("x", text, ids))
    bad = tuple(Sample(s.name, text, ids) for s in GOOD)
    verdicts = {c.name: c.verdict for c in judge_coherence(bad, -11.0)}
    assert set(verdicts.values()) == {Verdict.FAIL}


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x\n",
        "café, naïve, 東京, привет 👋",
        "| a | b |\n|---|---|\n",
        "1 2 3 4 5 6",
    ],
)
def test_text_is_not_garbage(text: str) -> None:
    assert faults_of(Sample("x", text, tuple(range(20)))) == ()


def test_one_sign_alone_does_not_condemn() -> None:
    narrow = tuple(Sample(s.name, "[]", tuple(range(20))) for s in GOOD[1:]) + GOOD[:1]
    verdict = fold(c.verdict for c in judge_coherence(narrow, -3.0))
    assert verdict is Verdict.INCONCLUSIVE


def test_nothing_came_back() -> None:
    assert fold(c.verdict for c in judge_coherence((), None)) is Verdict.INCONCLUSIVE


def test_entropy() -> None:
    assert entropy_bits([1] * 8) == 0
    assert entropy_bits([1, 2, 3, 4]) == 2
    assert entropy_bits([]) == 0


def _print(*nats: float, ids: tuple[int, ...] = (1, 2, 3)) -> Fingerprint:
    return Fingerprint("s", (PromptTrace("count", ids, nats),))


def test_fingerprints_of_one_two_and_three_models() -> None:
    trusted = _print(-0.1, -0.2, -0.3)
    same = compare_fingerprints(trusted, _print(-0.101, -0.2, -0.3))
    drift = compare_fingerprints(trusted, _print(-0.2, -0.25, -0.4))
    other = compare_fingerprints(trusted, _print(-1.1, -0.9, -0.3))
    assert judge_change(same).verdict is Verdict.PASS
    assert judge_change(drift).warning
    assert judge_change(other).verdict is Verdict.FAIL
    assert other.bias_nats < 0


def test_other_tokens_are_another_tokenizer() -> None:
    change = compare_fingerprints(_print(-1, -1, -1), _print(-1, -1, -1, ids=(1, 2, 4)))
    assert judge_change(change).verdict is Verdict.FAIL
    assert judge_change(None).verdict is Verdict.SKIPPED


def test_a_trace_out_of_a_real_answer() -> None:
    recorded = msgspec.json.decode((LIVE / "prompt-logprobs.json").read_bytes())
    trace = read_trace("x", msgspec.json.encode(recorded["response"]))
    assert trace.ids[:3] == (28, 311, 344)
    assert trace.nats[2] == -1.2117  # the prompt's own token, not the likelier one
    for body in (b'{"choices": []}', b'{"choices": [{"text": "x"}]}', b"<html>"):
        with pytest.raises(FormatError):
            read_trace("x", body)
