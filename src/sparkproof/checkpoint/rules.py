"""What a declaration means for an operator: findings with their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.checkpoint.effective import EffectiveFormat
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    DeclaredBy,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.facts.book import rules

_FAMILY = "checkpoint/"
_FP4 = frozenset({QuantScheme.NVFP4_W4A4, QuantScheme.NVFP4_W4A16})
_DECODER = frozenset(
    {
        LayerClass.ATTENTION,
        LayerClass.LINEAR_ATTENTION,
        LayerClass.MLP,
        LayerClass.SHARED_EXPERT,
    }
)
_NOTED = {
    "split-fusion": Confidence.SHOWN,
    "entry-not-exact": Confidence.INFERRED,
    "names-differ": Confidence.INFERRED,
    "no-such-module": Confidence.SHOWN,
    "experts-borrowed": Confidence.SHOWN,
    "shards-borrowed": Confidence.INFERRED,
    "sources-disagree": Confidence.REPORTED,
    "stored-otherwise": Confidence.SHOWN,
    "shape-differs": Confidence.SHOWN,
    "scales-missing": Confidence.SHOWN,
    "input-scales-missing": Confidence.SHOWN,
    "draft-missing": Confidence.SHOWN,
    "stored-twice": Confidence.SHOWN,
    "shard-missing": Confidence.SHOWN,
    "shard-damaged": Confidence.SHOWN,
}


def judge_checkpoint(
    profile: CheckpointProfile,
    effective: Sequence[EffectiveFormat] = (),
    kv_cache_dtype: str = "auto",
) -> tuple[Finding, ...]:
    """All findings on a profile.

    Args:
        profile: what is declared.
        effective: what the release at hand makes of it (see `effective_formats`); without it
            the declaration is judged as written.
        kv_cache_dtype: value of ``--kv-cache-dtype``.
    """
    read = tuple(item.effective for item in effective) or profile.formats
    return (
        *_release(profile, effective),
        *_lm_head(read),
        *_weight_only(profile, read),
        *_experts(profile.formats),
        *_draft(profile, read),
        *_kv(profile, kv_cache_dtype),
        *_noted(profile),
    )


def checkpoint_errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that are wrong with the checkpoint itself, which no flag and no image mends."""
    return tuple(
        item
        for item in findings
        if item.severity is Severity.ERROR and item.rule.startswith(_FAMILY)
    )


def _found(
    slug: str,
    message: str,
    confidence: Confidence,
    *,
    subject: str = "",
    evidence: tuple[Evidence, ...] = (),
    facts: tuple[str, ...] = (),
) -> Finding:
    rule = rules()[f"{_FAMILY}{slug}"]
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        confidence=confidence,
        message=message,
        subject=subject,
        evidence=evidence,
        remedy=" ".join(rule.remedy.split()),
        facts=facts,
    )


def _where(item: LayerFormat) -> str:
    return f"{item.layer_class} ({item.layers})" if item.layers else str(item.layer_class)


def _release(profile: CheckpointProfile, effective: Sequence[EffectiveFormat]) -> Iterable[Finding]:
    for item in effective:
        facts = (f"loader_rules/{item.rule}",)
        subject = item.declared.layer_class
        unfit = _unfit(profile, item)
        if item.refusal or unfit:
            message = unfit or f"{_where(item.declared)}: {item.refusal}"
            yield _found(
                "refused",
                message,
                Confidence.SHOWN,
                subject=subject,
                evidence=item.effective.evidence,
                facts=facts,
            )
        elif item.differs and not item.doubt and _matters(item):
            message = (
                f"{_where(item.declared)} is declared {item.declared.scheme}, "
                f"and run {item.effective.scheme}"
            )
            yield _found(
                "read-otherwise",
                message,
                Confidence.SHOWN,
                subject=subject,
                evidence=item.effective.evidence,
                facts=facts,
            )


def _unfit(profile: CheckpointProfile, item: EffectiveFormat) -> str:
    """Why a 16-bit layer can't be filled with what is stored for it."""
    declared = item.declared
    built_plain = item.effective.scheme is QuantScheme.UNQUANTIZED
    if profile.stored is None or not item.differs or item.doubt or not built_plain:
        return ""
    packed = [
        line
        for line in profile.stored.of(declared.layer_class)
        if line.declared is declared.scheme and line.scheme is not QuantScheme.UNQUANTIZED
    ]
    if not packed:
        return ""
    return f"stored {packed[0].scheme}, and built in 16 bits: loading fails"


def _matters(item: EffectiveFormat) -> bool:
    """A class target or default that takes in a router was hardly meant for it."""
    meant = item.declared.declared_by not in (DeclaredBy.CLASS, DeclaredBy.DEFAULT)
    return meant or item.declared.layer_class is not LayerClass.ROUTER


def _lm_head(read: Sequence[LayerFormat]) -> Iterable[Finding]:
    for item in read:
        if item.layer_class is LayerClass.LM_HEAD and item.scheme in _FP4:
            yield _found(
                "lm-head-4bit",
                f"lm_head is {item.scheme}",
                Confidence.REPORTED,
                subject=LayerClass.LM_HEAD,
                evidence=item.evidence,
            )


def _weight_only(profile: CheckpointProfile, read: Sequence[LayerFormat]) -> Iterable[Finding]:
    said = f"{profile.name} {profile.quant_algo}".lower()
    four_bit = [item for item in read if item.scheme in _FP4]
    weight_only = [item for item in four_bit if item.scheme is QuantScheme.NVFP4_W4A16]
    called = "fp4" in said or profile.quant_algo == "MIXED_PRECISION"
    if weight_only and len(weight_only) == len(four_bit) and called:
        classes = ", ".join(dict.fromkeys(item.layer_class for item in weight_only))
        yield _found(
            "w4a16-called-nvfp4",
            f"4-bit weights with 16-bit activations: {classes}",
            Confidence.SHOWN,
            evidence=weight_only[0].evidence,
        )


def _experts(read: Sequence[LayerFormat]) -> Iterable[Finding]:
    experts = [item for item in read if item.layer_class is LayerClass.EXPERTS]
    plain = [item for item in experts if item.scheme is QuantScheme.UNQUANTIZED]
    others = any(
        item.layer_class in _DECODER and item.scheme is not QuantScheme.UNQUANTIZED for item in read
    )
    quantized = len(plain) < len(experts)
    for item in plain:
        if others or quantized:
            yield _found(
                "experts-unquantized",
                f"{_where(item)} in 16 bits",
                Confidence.SHOWN,
                subject=LayerClass.EXPERTS,
                evidence=item.evidence,
            )


def _draft(profile: CheckpointProfile, read: Sequence[LayerFormat]) -> Iterable[Finding]:
    body = {i.scheme for i in read if i.layer_class in _DECODER | {LayerClass.EXPERTS}}
    drafts = [item for item in read if item.layer_class is LayerClass.DRAFT]
    schemes = {item.scheme for item in drafts}
    if drafts and profile.quant_method and not schemes >= body - {QuantScheme.UNQUANTIZED}:
        told = " and ".join(sorted(schemes))
        evidence = tuple(e for item in drafts for e in item.evidence)[:4]
        yield _found(
            "draft-format",
            f"draft layers are {told}, the decoder is not",
            Confidence.SHOWN,
            subject=LayerClass.DRAFT,
            evidence=evidence,
        )


def _kv(profile: CheckpointProfile, kv_cache_dtype: str) -> Iterable[Finding]:
    stored = profile.stored
    if profile.kv_cache_scheme and stored and stored.shards and not stored.kv_scales:
        yield _found(
            "kv-scales-absent",
            f"KV cache declared {profile.kv_cache_scheme}, and no scale of it is stored",
            Confidence.SHOWN,
            subject="kv-cache",
        )
    elif profile.kv_cache_scheme:
        yield _found(
            "kv-scales-declared",
            f"KV cache declared {profile.kv_cache_scheme}",
            Confidence.SHOWN,
            subject="kv-cache",
        )
    elif kv_cache_dtype.startswith("fp8") and not (stored and stored.kv_scales):
        told = "stored" if stored else "declared"
        yield _found(
            "kv-scales-missing",
            f"{kv_cache_dtype} KV cache without {told} scales",
            Confidence.SHOWN if stored else Confidence.INFERRED,
            subject="kv-cache",
        )


def _noted(profile: CheckpointProfile) -> Iterable[Finding]:
    for note in profile.notes:
        yield _found(
            note.kind, note.what, _NOTED[note.kind], subject=note.subject, evidence=note.evidence
        )
    if profile.reconstructed:
        count = len(profile.assumed)
        told = f"rebuilt from described facts; {count} assumptions" if count else "rebuilt"
        yield _found(
            "reconstructed",
            told,
            Confidence.SHOWN,
            evidence=(Evidence("config.json: _sparkproof", profile.reconstructed),),
        )
