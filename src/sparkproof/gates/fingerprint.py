"""Take a fingerprint, and say how far it is from a trusted one.

The same weights on the same kernels differ by the rounding of their sums; another quantization of
the same weights by a tenth of a nat or so; another training, or a kernel that computes something
else, by more. So silent garbage and slow drift are numbers.
"""

from __future__ import annotations

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.fingerprint import Fingerprint, FingerprintChange, PromptTrace
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.formats.openai_answer import Answer, parse_as
from sparkproof.gates.coherence import KNOWN_TEXT

SET_NAME = "2026-11"
PROMPTS = {
    "count": KNOWN_TEXT,
    "extract": 'Extract: the vendor tagged vllm 0.22.0.\n{"name": "vllm", "version": "0.22.0"',
    "capital": "What is the capital of Italy?\nThe capital of Italy is Rome.",
    "prose": "The old miller counted his sacks of flour twice, since rain had come in by the door.",
    "code": "def add(a, b):\n    return a + b\n\n\ndef double(x):\n    return add(x, x)\n",
}
SAME_NATS = 0.02
"""Mean difference up to which two runs count as the same. One CPU server asked twice gave less
than 0.001 (bf16, vLLM 0.32.0, 2026-11-29); batches that are summed in another order need room."""
DRIFT_NATS = 0.15


def read_trace(name: str, body: bytes) -> PromptTrace:
    """The trace in one answer to a prompt with ``prompt_logprobs``.

    Raises:
        FormatError: the answer holds none.
    """
    choices = parse_as(Answer, body, name).choices
    rows = choices[0].prompt_logprobs if choices else None
    if not rows:
        raise FormatError("no log-probabilities of the prompt in it", where=name)
    ids, nats = [], []
    for row in rows:
        if not row:
            continue
        key, token = next(iter(row.items()))  # the prompt's own token stands first
        if not key.lstrip("-").isdecimal() or token.logprob is None:
            raise FormatError(f"no token id in `{key[:20]}`", where=name)
        ids.append(int(key))
        nats.append(round(max(token.logprob, -1e4), 4))
    return PromptTrace(name, tuple(ids), tuple(nats))


def known_text_nats(fingerprint: Fingerprint) -> float | None:
    """Mean log-probability of the second half of the known text; None where it was not taken."""
    for trace in fingerprint.traces:
        if trace.name == "count" and trace.nats:
            half = trace.nats[len(trace.nats) // 2 :]
            return sum(half) / len(half)
    return None


def compare_fingerprints(trusted: Fingerprint, now: Fingerprint) -> FingerprintChange:
    """How far `now` lies from `trusted`, over the prompts that both hold."""
    new = {trace.name: trace for trace in now.traces}
    pairs = [(old, new[old.name]) for old in trusted.traces if old.name in new]
    comparable = trusted.set_name == now.set_name and bool(pairs)
    if not comparable or any(old.ids != other.ids for old, other in pairs):
        return FingerprintChange(same_tokens=False)
    gaps = [b - a for old, other in pairs for a, b in zip(old.nats, other.nats, strict=True)]
    sizes = [abs(gap) for gap in gaps]
    return FingerprintChange(
        same_tokens=True,
        tokens=len(gaps),
        mean_nats=round(sum(sizes) / len(sizes), 5),
        worst_nats=round(max(sizes), 5),
        bias_nats=round(sum(gaps) / len(gaps), 5),
    )


def judge_change(change: FingerprintChange | None) -> Criterion:
    """Same, drifted, or another model."""
    name = "smoke/fingerprint"
    if change is None:
        return Criterion(name, Verdict.SKIPPED, "no trusted receipt to compare with")
    if not change.same_tokens:
        return Criterion(
            name, Verdict.FAIL, "the prompts are cut into other tokens: another tokenizer"
        )
    reason = (
        f"{change.mean_nats:.3f} nats a token from the trusted one, worst {change.worst_nats:.2f}"
    )
    if change.mean_nats <= SAME_NATS:
        return Criterion(name, Verdict.PASS, reason)
    if change.mean_nats <= DRIFT_NATS:
        return Criterion(
            name, Verdict.PASS, f"{reason}: the same model, computed otherwise", warning=True
        )
    return Criterion(name, Verdict.FAIL, f"{reason}: not what was trusted")
