"""Are the arms what they should be: two servers, one tokenizer, and one checkpoint unless told."""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.observations.fingerprint import FingerprintChange
from sparkproof.core.observations.server_snapshot import EngineCounts
from sparkproof.core.results.ab import AbArm
from sparkproof.gates.fingerprint import DRIFT_NATS, compare_fingerprints

CHECKPOINT = "checkpoint"
DIFFERENCES = (CHECKPOINT,)
"""In what the arms may be told to differ; anything else of theirs may differ unasked."""
TOKENIZED = (
    "The vendor tagged vllm 0.22.0.post1+cu130 on 2026-11-30.",
    '{"name": "flash_attn", "sizes": [1, 22, 333], "ok": true}',
    "    def höhe(x):\n\treturn x ** 2  # 日本語, emoji 🙂\n",
    "<|im_start|>user\nhello<|im_end|>",
)
"""What tokenizers cut differently: digits, quotes, white space, other scripts, special tokens."""


def same_process(one: EngineCounts | None, two: EngineCounts | None) -> bool:
    """Both metrics speak of one start; whether they count one traffic remains to be seen."""
    return bool(one and two and one.start_s is not None and one.start_s == two.start_s)


def counted_there(before: EngineCounts | None, after: EngineCounts | None) -> bool:
    """Whether a server's counters moved while only the other one was asked."""
    if before is None or after is None:
        return False
    names = ("finished", "generated_tokens", "prompt_tokens")
    return any((getattr(after, n) or 0) > (getattr(before, n) or 0) for n in names)


def refusals(
    control: AbArm, treatment: AbArm, differ: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Why the two can't be compared: (rule, message) each; none where they can.

    Names that are the same and fingerprints that are not are no refusal: kernels that compute
    something else look like that, and finding them is what the comparison is for.
    """
    if CHECKPOINT in differ:
        return ()
    if control.token_ids and treatment.token_ids and control.token_ids != treatment.token_ids:
        text = next(
            text
            for text, one, two in zip(
                TOKENIZED, control.token_ids, treatment.token_ids, strict=False
            )
            if one != two
        )
        message = f"{treatment.name} cuts {text[:30]!r} into other tokens: another tokenizer"
        return (("ab/other-tokenizer", message),)
    change = change_of(control, treatment)
    if change is not None and not change.same_tokens:
        message = f"{treatment.name} cuts the fingerprint's prompts into other tokens"
        return (("ab/other-tokenizer", message),)
    one, two = (served_from(arm) for arm in (control, treatment))
    named_apart = bool(one and two) and one != two
    if change is not None and change.mean_nats > DRIFT_NATS and (named_apart or not one):
        message = (
            f"{treatment.name} ({two or 'unnamed'}) lies {change.mean_nats:.2f} nats a token from "
            f"the control ({one or 'unnamed'}): another checkpoint"
        )
        return (("ab/other-checkpoint", message),)
    if named_apart and change is None:
        message = f"the control serves {one}, {treatment.name} {two}"
        return (("ab/other-checkpoint", message),)
    return ()


def change_of(control: AbArm, treatment: AbArm) -> FingerprintChange | None:
    """How far the fingerprints lie apart; None where one arm gave none."""
    if control.fingerprint is None or treatment.fingerprint is None:
        return None
    return compare_fingerprints(control.fingerprint, treatment.fingerprint)


def served_from(arm: AbArm) -> str:
    """The last part of where its checkpoint was loaded from, "" where it does not tell."""
    return next((m.root for m in arm.snapshot.models if m.name == arm.model), "")
