"""The lines of a first deployment, each with its reason. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.suggest import Rung, SuggestedLine
from sparkproof.facts.advice import Purpose, advice, parsers_of
from sparkproof.upgrade.arguments import Given
from sparkproof.upgrade.values import Taken, takes

_COMPUTED, _SURFACE, _FACT = "computed", "release surface", "fact"
DRAFT_METHOD = "mtp"


class Wishes(msgspec.Struct, frozen=True):
    """What is still open while candidates are tried.

    Attributes:
        fp8_cache: the cache in FP8; `drafts`: speculation with the checkpoint's own head.
        fallback: flags and variables of a way out that was proven, with the reason.
    """

    fp8_cache: bool = True
    drafts: bool = True
    fallback: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    fallback_reason: str = ""


class Numbers(msgspec.Struct, frozen=True):
    """What was computed.

    Attributes:
        context: tokens of a request; `sequences` at a time.
        share: ``--gpu-memory-utilization`` (0 where the weights are not known).
        pool_bytes: least pool for them (0 where the layers are not known).
        share_reason: what it rests on.
    """

    context: int
    sequences: int
    share: float = 0.0
    share_reason: str = ""
    pool_bytes: int = 0


def has_draft_head(profile: CheckpointProfile) -> bool:
    """Whether the checkpoint brings layers that draft."""
    return any(item.layer_class is LayerClass.DRAFT for item in profile.formats)


def lines_of(
    surface: ReleaseSurface,
    profile: CheckpointProfile,
    purpose: Purpose,
    wishes: Wishes,
    numbers: Numbers,
) -> tuple[SuggestedLine, ...]:
    """Every line, flags that the release does not have left out."""
    found = [
        *_sizes(purpose, numbers),
        *_memory(numbers),
        *_cache(profile, wishes),
        *_prefix(profile),
        *_drafts(profile, purpose, wishes),
        *_backends(wishes),
        *_parsers(surface, profile, purpose),
    ]
    return tuple(line for line in found if line.left_out or line.variable or _has(surface, line))


def _has(surface: ReleaseSurface, line: SuggestedLine) -> bool:
    values = (line.value,) if line.value else ()
    answer = takes(surface, Given(line.name, line.name, values, 0, 0))
    return answer.taken in (Taken.YES, Taken.UNREAD, Taken.UNLISTED)


def _sizes(purpose: Purpose, numbers: Numbers) -> Iterator[SuggestedLine]:
    own = "the checkpoint's own limit" if numbers.context < purpose.context else purpose.why
    yield SuggestedLine("--max-model-len", str(numbers.context), own, f"{_FACT} purposes")
    batch = advice()["batched-tokens"]
    yield SuggestedLine(
        "--max-num-batched-tokens", batch.value, batch.why, f"{_FACT} advice/{batch.id}"
    )
    yield SuggestedLine(
        "--max-num-seqs",
        str(numbers.sequences),
        f"{purpose.title}; said explicitly, since the default is another one in every release",
        f"{_FACT} purposes",
    )


def _memory(numbers: Numbers) -> Iterator[SuggestedLine]:
    if numbers.share:
        yield SuggestedLine(
            "--gpu-memory-utilization", f"{numbers.share:.2f}", numbers.share_reason, _COMPUTED
        )
    elif numbers.pool_bytes:
        size = numbers.pool_bytes / (1 << 30)
        yield SuggestedLine(
            "--kv-cache-memory-bytes",
            str(numbers.pool_bytes),
            f"{size:.2f} GiB: {numbers.sequences} requests of {numbers.context:,} tokens, "
            "computed from the layers; the weights are not known, so no share of the box is",
            _COMPUTED,
        )


def _cache(profile: CheckpointProfile, wishes: Wishes) -> Iterator[SuggestedLine]:
    if profile.kv_cache_scheme:
        yield SuggestedLine(
            "--kv-cache-dtype",
            "",
            f"left to the checkpoint, which declares {profile.kv_cache_scheme}",
            "checkpoint",
            left_out=True,
        )
    elif wishes.fp8_cache:
        yield SuggestedLine(
            "--kv-cache-dtype",
            "fp8",
            "half the bytes of each token in attention layers; its kernel is part of the proof",
            "selection and claim field/fp8-kv-faster",
        )
    else:
        yield SuggestedLine(
            "--kv-cache-dtype",
            "",
            "left at the model's own type: FP8 did not prove on this artifact and box",
            "selection",
            left_out=True,
        )


def _prefix(profile: CheckpointProfile) -> Iterator[SuggestedLine]:
    hybrid = any(item.layer_class is LayerClass.LINEAR_ATTENTION for item in profile.formats)
    if hybrid:
        yield SuggestedLine(
            "--enable-prefix-caching",
            "",
            "off by itself on hybrids up to 0.25, on since: said explicitly it stays what it is",
            f"{_FACT} memory/kv_rules",
        )


def _drafts(
    profile: CheckpointProfile, purpose: Purpose, wishes: Wishes
) -> Iterator[SuggestedLine]:
    if not has_draft_head(profile):
        return
    if purpose.drafts and wishes.drafts:
        tokens = advice()["draft-tokens"]
        yield SuggestedLine(
            "--speculative-config",
            f'{{"method": "{DRAFT_METHOD}", "num_speculative_tokens": {tokens.value}}}',
            f"the checkpoint brings the head; {tokens.why}",
            f"checkpoint and {_FACT} advice/{tokens.id}",
        )
        return
    why = purpose.why if not purpose.drafts else "did not prove on this artifact and box"
    yield SuggestedLine(
        "--speculative-config", "", f"left out: {why}", f"{_FACT} purposes", left_out=True
    )


def _backends(wishes: Wishes) -> Iterator[SuggestedLine]:
    words = list(wishes.fallback)
    for name, value in wishes.variables.items():
        yield SuggestedLine(name, value, wishes.fallback_reason, "selection", variable=True)
    if not words:
        yield SuggestedLine(
            "--moe-backend, --linear-backend, --attention-backend",
            "",
            "left to the release; what it selects is part of the proof",
            "selection",
            left_out=True,
        )
    while words:
        name = words.pop(0)
        value = words.pop(0) if words and not words[0].startswith("-") else ""
        yield SuggestedLine(name, value, wishes.fallback_reason, "selection")


def _parsers(
    surface: ReleaseSurface, profile: CheckpointProfile, purpose: Purpose
) -> Iterator[SuggestedLine]:
    family = parsers_of(profile.model_type)
    if family is None:
        return
    if purpose.tools:
        tool = _first(surface, "tool", family.tool)
        if tool:
            yield SuggestedLine(
                "--enable-auto-tool-choice", "", "tool calls need it beside the parser", _SURFACE
            )
            yield SuggestedLine(
                "--tool-call-parser", tool, f"for {profile.model_type}: {family.source}", _SURFACE
            )
    if purpose.thinks:
        reasoning = _first(surface, "reasoning", family.reasoning)
        if reasoning:
            yield SuggestedLine(
                "--reasoning-parser",
                reasoning,
                f"for {profile.model_type}: {family.source}",
                _SURFACE,
            )


def _first(surface: ReleaseSurface, kind: str, names: tuple[str, ...]) -> str:
    known = {item.name for item in surface.parsers if item.kind == kind}
    return next((name for name in names if name in known), "")


def arguments_of(lines: tuple[SuggestedLine, ...]) -> tuple[str, ...]:
    """The words after ``vllm serve MODEL``."""
    kept = (line for line in lines if not line.left_out and not line.variable)
    return tuple(word for line in kept for word in (line.name, line.value) if word)


def soak_of(lines: tuple[SuggestedLine, ...], profile: CheckpointProfile) -> tuple[str, ...]:
    """What must be soaked before it is relied on."""
    names = {line.name for line in lines if not line.left_out}
    found = []
    if "--speculative-config" in names and "--enable-prefix-caching" in names:
        found.append(
            "speculation and prefix caching together on a hybrid: shared prefixes, several "
            "streams, with preemption (claim history/42084)"
        )
    elif "--speculative-config" in names:
        found.append("speculation under preemption: eight streams (claim history/48245)")
    if "--kv-cache-dtype" in names:
        found.append("quality with the FP8 cache against the same prompts without it")
    if "--tool-call-parser" in names:
        found.append(f"one tool call in each mode with the template of {profile.name}")
    return tuple(found)


def ladder_of(lines: tuple[SuggestedLine, ...], sequences: int) -> tuple[Rung, ...]:
    """What to give up, in order, if it fails."""
    names = {line.name for line in lines if not line.left_out}
    rungs = [
        Rung("it does not start", "sparkproof log FILE  # names the cause from the boot log"),
    ]
    if "--speculative-config" in names:
        rungs.append(Rung("it dies under load, or replies go odd", "drop --speculative-config"))
    if "--enable-prefix-caching" in names:
        rungs.append(
            Rung("replies differ once a prefix is cached", "change to --no-enable-prefix-caching")
        )
    if "--kv-cache-dtype" in names:
        rungs.append(Rung("quality is lower than it should be", "drop --kv-cache-dtype"))
    if sequences > 1:
        rungs.append(
            Rung(
                "memory is short",
                f"change --max-num-seqs {max(1, sequences // 2)}, then halve --max-model-len",
            )
        )
    rungs.append(
        Rung("a kernel faults while graphs are captured", "add --enforce-eager, to find out")
    )
    return tuple(rungs)
