"""Look at one checkpoint: what it declares, what it stores, what a release makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.checkpoint.effective import EffectiveFormat, effective_formats
from sparkproof.checkpoint.rules import judge_checkpoint
from sparkproof.checkpoint.summary import format_label
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.stored_tensors import StoredFormat
from sparkproof.core.ports import Progress
from sparkproof.core.report import Report
from sparkproof.core.results.checkpoint import CheckpointLine, CheckpointResult
from sparkproof.core.units import format_bytes, plural
from sparkproof.core.verdict import Verdict
from sparkproof.facts.surfaces import check_reached
from sparkproof.formats.safetensors_index import SUFFIX
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint, read_from
from sparkproof.usecases.envelope import make_report

_BODY = frozenset(
    {
        LayerClass.ATTENTION,
        LayerClass.LINEAR_ATTENTION,
        LayerClass.MLP,
        LayerClass.EXPERTS,
        LayerClass.SHARED_EXPERT,
        LayerClass.LM_HEAD,
        LayerClass.OTHER,
    }
)
Effective = dict[tuple[LayerClass, QuantScheme], EffectiveFormat]


def look_at_checkpoint(
    reference: str,
    *,
    vllm: str = "",
    kv_cache_dtype: str = "auto",
    offline: bool = False,
    cache: ArtifactCache | None = None,
    progress: Progress | None = None,
) -> Report[CheckpointResult]:
    """Profile a checkpoint and judge it.

    Args:
        reference: a folder, a config.json, ``org/name`` or ``org/name@revision``.
        vllm: a release whose reading is shown beside the declaration ("" for none).
        kv_cache_dtype: value of ``--kv-cache-dtype``.
        offline: ask nobody.

    Raises:
        UsageError: a release that is not known here.
        UsageError, UnreachableError, FormatError: as `read_from`.
    """
    if vllm:
        check_reached(vllm)
    read = read_from(reference, offline=offline, cache=cache, progress=progress)
    return report_checkpoint(read, vllm=vllm, kv_cache_dtype=kv_cache_dtype)


def report_checkpoint(
    read: ReadCheckpoint, *, vllm: str = "", kv_cache_dtype: str = "auto"
) -> Report[CheckpointResult]:
    """The same for a checkpoint that was read already."""
    profile = read.profile
    effective = effective_formats(profile, vllm) if vllm else ()
    findings = judge_checkpoint(profile, effective, kv_cache_dtype)
    lines = tuple(_lines(profile, effective))
    result = CheckpointResult(
        label=format_label(profile),
        profile=profile,
        lines=lines,
        release=vllm,
        read_bytes=profile.stored.read_bytes if profile.stored else -1,
    )
    return make_report(
        "checkpoint",
        result,
        verdict=_verdict(profile, findings, lines),
        summary=_summary(result, findings),
        subjects=(read.subject,),
        findings=findings,
        unknowns=(*profile.unknowns, *profile.state_unknowns),
        next_steps=_next_steps(read, findings, vllm),
        facts=_facts(lines, findings),
    )


def _lines(
    profile: CheckpointProfile, effective: Sequence[EffectiveFormat]
) -> Iterable[CheckpointLine]:
    """Stored lines with their declaration; declared ones where nothing of them is stored."""
    by_declared: Effective = {}
    declared: dict[tuple[LayerClass, QuantScheme], LayerFormat] = {}
    for item in effective:
        by_declared.setdefault((item.declared.layer_class, item.declared.scheme), item)
    for each in profile.formats:
        declared.setdefault((each.layer_class, each.scheme), each)
    stored = profile.stored.formats if profile.stored else ()
    held = {item.layer_class for item in stored}
    order = tuple(LayerClass)
    lines = [_stored_line(item, declared, by_declared) for item in stored]
    lines += [
        _declared_line(item, by_declared)
        for item in profile.formats
        if item.layer_class not in held and not (stored and _adds_nothing(item))
    ]
    yield from sorted(lines, key=lambda line: order.index(line.layer_class))


def _adds_nothing(item: LayerFormat) -> bool:
    """What is not quantized and not stored (a tied output layer, say) needs no line."""
    return item.scheme is QuantScheme.UNQUANTIZED or item.layer_class is LayerClass.OTHER


def _stored_line(
    item: StoredFormat,
    declared: dict[tuple[LayerClass, QuantScheme], LayerFormat],
    effective: Effective,
) -> CheckpointLine:
    key = (item.layer_class, item.declared)
    said = declared.get(key)
    read = effective.get(key)
    return CheckpointLine(
        layer_class=item.layer_class,
        declared=item.declared,
        layers=item.layers,
        stored=item.scheme,
        run_as=_run_as(read),
        activations=said.activations if said else Activations.UNQUANTIZED,
        detail=said.detail if said else "",
        refusal=read.refusal if read else "",
        doubt=read.doubt if read else "",
        tensors=item.tensors,
        parameters=item.parameters,
        bytes=item.bytes,
        scale_bytes=item.scale_bytes,
        read_bytes=item.read_bytes,
        evidence=(*(said.evidence if said else ()), *item.evidence),
    )


def _declared_line(item: LayerFormat, effective: Effective) -> CheckpointLine:
    read = effective.get((item.layer_class, item.scheme))
    return CheckpointLine(
        layer_class=item.layer_class,
        declared=item.scheme,
        layers=item.layers,
        run_as=_run_as(read),
        activations=item.activations,
        detail=item.detail,
        refusal=read.refusal if read else "",
        doubt=read.doubt if read else "",
        evidence=item.evidence,
    )


def _run_as(read: EffectiveFormat | None) -> QuantScheme | None:
    return read.effective.scheme if read and not read.doubt else None


def _verdict(
    profile: CheckpointProfile, findings: Sequence[Finding], lines: Sequence[CheckpointLine]
) -> Verdict:
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Verdict.FAIL
    unread = any(
        QuantScheme.UNKNOWN in (line.declared, line.stored) and line.layer_class in _BODY
        for line in lines
    )
    return Verdict.INCONCLUSIVE if unread or _unread_index(profile) else Verdict.PASS


def _unread_index(profile: CheckpointProfile) -> str:
    """Why the list of shards is not known, and so which of them vLLM would load; "" if it is."""
    found = (f"{i.where}: {i.why}" for i in profile.unknowns if i.where.endswith(SUFFIX))
    return next(found, "")


def _summary(result: CheckpointResult, findings: Sequence[Finding]) -> str:
    stored = result.profile.stored
    words = [result.label]
    if stored:
        words.append(f"{format_bytes(stored.bytes)} in {plural(stored.shards, 'shard')}")
    errors = [f for f in findings if f.severity is Severity.ERROR]
    differs = any(line.differs or line.stored is QuantScheme.UNKNOWN for line in result.lines)
    if errors:
        words.append(errors[0].message)
    elif _unread_index(result.profile):
        words.append(f"which shards are loaded can't be told: {_unread_index(result.profile)}")
    elif stored and not differs:
        words.append("stored as declared")
    elif not stored:
        words.append("no tensors were read, only what is declared is told")
    return "; ".join(words)


def _next_steps(read: ReadCheckpoint, findings: Sequence[Finding], vllm: str) -> tuple[str, ...]:
    steps = []
    errors = [f for f in findings if f.severity is Severity.ERROR]
    if errors:
        steps.append(f"sparkproof explain {errors[0].rule}")
    steps.append(f"sparkproof select {read.subject.ref} --artifact vllm=={vllm or 'VERSION'}")
    return tuple(steps)


def _facts(lines: Sequence[CheckpointLine], findings: Sequence[Finding]) -> tuple[str, ...]:
    schemes = {s for line in lines for s in (line.declared, line.stored, line.run_as) if s}
    named = {fact for finding in findings for fact in finding.facts}
    return tuple(sorted({*named, *(f"quant_schemes/{scheme}" for scheme in schemes)}))
