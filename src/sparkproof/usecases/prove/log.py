"""Hold a proof against the boot log of the server that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sparkproof.adapters.log_sources import open_log
from sparkproof.bootlog.compare import (
    OTHER_RELEASE,
    Expectation,
    ExpectedBackend,
    compare_boot,
)
from sparkproof.bootlog.compare_device import DEVICE, OTHER_DEVICE, ExpectedDevice
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.observations.boot_log import BootLog
from sparkproof.core.observations.checkpoint_profile import LayerClass
from sparkproof.core.report import Report
from sparkproof.core.results.proof import (
    Agreement,
    LayerProof,
    LogComparison,
    ProofResult,
)
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.facts.memory_book import device_memory
from sparkproof.memory.budget import GIB
from sparkproof.memory.kv_plan import ROUNDING_BYTES, plan_kv
from sparkproof.recipe.vllm_args import plain_size
from sparkproof.usecases.fit.case import FitRequest, read_case
from sparkproof.usecases.log.command import read_last_boot
from sparkproof.usecases.prove.roles import DRAFT_ATTENTION, DRAFT_EXPERTS

_LOGGED_CLASS = {"moe": "experts", "dense": "linear", "attention": "attention"}
"""What a log calls the layers of an oracle, by the oracle's kind."""
_OF_DRAFTER = (LayerClass.DRAFT, DRAFT_EXPERTS, DRAFT_ATTENTION)
_KV_NAMES = ("kv_available_gib", "kv_reserved_gib")

_VERSION, _WEIGHTS = "version", "weights"
_BLOCK_SIZE, _TOKENS, _TIMES = "block size", "KV tokens", "maximum concurrency"
_FOLLOWS = {_VERSION: OTHER_RELEASE, DEVICE: OTHER_DEVICE}
"""What the likely reason of a row begins with where it comes of another release or device."""
_EXPLAINS = {
    "--kv-cache-dtype": (_BLOCK_SIZE, _TOKENS, _TIMES),
    "--block-size": (_BLOCK_SIZE, _TOKENS, _TIMES),
    _BLOCK_SIZE: (_TOKENS, _TIMES),
    "--max-model-len": (_TIMES,),
    "weights GiB": (_TOKENS, _TIMES),
}
"""What a difference does to others, first causes first."""


def with_log(report: Report[ProofResult], log: str, deployment: Deployment) -> Report[ProofResult]:
    """The report with the comparison in it, and its verdict folded in.

    Raises:
        FormatError, UnreachableError, UsageError: the log can't be read, or is none of vLLM's.
    """
    assert report.result is not None
    found, unknowns = compare_with_log(log, report.result, deployment)
    criterion, findings = judge_comparison(found)
    differs = report.verdict is Verdict.PASS and criterion.verdict is Verdict.FAIL
    summary = f"proven, but {criterion.reason}" if differs else report.summary
    return msgspec.structs.replace(
        report,
        verdict=fold((report.verdict, criterion.verdict)),
        summary=summary,
        criteria=(*report.criteria, criterion),
        findings=(*findings, *report.findings),
        unknowns=(*report.unknowns, *unknowns),
        result=msgspec.structs.replace(report.result, boot_log=found),
    )


def compare_with_log(
    log: str, proof: ProofResult, deployment: Deployment
) -> tuple[LogComparison, tuple[Unknown, ...]]:
    """Compare with the last boot of a log.

    The pool's bytes are taken from the log itself, so that tokens and concurrency show whether
    the arithmetic agrees, whatever the memory was. Where the proof has several branches, the one
    that agrees best is compared.

    Raises:
        FormatError, UnreachableError, UsageError: the log can't be read, or is none of vLLM's.
    """
    source = open_log(log)
    _, boot = read_last_boot(source)
    plan, unknowns = _plan(boot, proof.release, deployment)
    common = _common(proof, deployment, plan, boot)
    compared = [
        compare_boot(
            msgspec.structs.replace(common, backends=tuple(expected_backends(branch.layers))), boot
        )
        for branch in proof.branches
    ]
    rows = max(compared, key=lambda found: sum(row.agrees is True for row in found))
    return LogComparison(source.name, boot.number, rows, _note(proof, plan)), unknowns


def judge_comparison(found: LogComparison) -> tuple[Criterion, tuple[Finding, ...]]:
    """One criterion for the log, one finding a difference that no other one explains."""
    different = [row for row in found.rows if row.agrees is False]
    agreeing = sum(row.agrees is True for row in found.rows)
    under = {row.name: _cause(row, {item.name for item in different}) for row in different}
    causes = [row for row in different if not under[row.name]]
    findings = tuple(
        _finding(found.log, row, [name for name, cause in under.items() if cause == row.name])
        for row in causes
    )
    if causes:
        names = ", ".join(row.name for row in causes)
        return Criterion("log", Verdict.FAIL, f"the log differs in {names}"), findings
    if not agreeing:
        reason = "the log states nothing that was predicted"
        return Criterion("log", Verdict.INCONCLUSIVE, reason), ()
    silent = sum(row.agrees is None and bool(row.predicted) for row in found.rows)
    reason = f"{agreeing} predicted facts stand in the log, {silent} are not told there"
    unproven = ", ".join(row.name for row in found.rows if not row.predicted)
    more = f"; nothing was predicted of its {unproven}" if unproven else ""
    return Criterion("log", Verdict.PASS, f"{reason}{more}"), ()


def _cause(row: Agreement, different: set[str]) -> str:
    """The first cause among the differences that explains this one, "" for none."""
    for cause, words in _FOLLOWS.items():
        if row.name not in _FOLLOWS and cause in different and row.likely.startswith(words):
            return cause
    causes = (name for name, explained in _EXPLAINS.items() if row.name in explained)
    return next((name for name in causes if name in different), "")


def _finding(log: str, row: Agreement, following: Sequence[str]) -> Finding:
    more = f"; with it differ {', '.join(following)}" if following else ""
    return Finding(
        rule="proof/log-differs",
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=f"proven {row.predicted}, the log shows {row.observed}: {row.likely}{more}",
        subject=row.name,
        evidence=(Evidence(where=log, what=row.observed, line=row.line),),
        remedy="prove what really runs, or start what was proven",
    )


def flags_with_values(arguments: Sequence[str]) -> dict[str, str]:
    """Long flags and their values: sizes as numbers, several values with blanks between."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in arguments:
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            found[name] = [value] if equals else []
        elif name:
            found[name].append(word)
    return {
        name: " ".join(plain_size(name, value) for value in values)
        for name, values in found.items()
        if name.startswith("--") and any(values)
    }


def _common(
    proof: ProofResult, deployment: Deployment, plan: KvPlan | None, boot: BootLog
) -> Expectation:
    """What every branch of a proof says alike."""
    tokens, concurrency = _nearest(plan, boot) if plan else (None, None)
    return Expectation(
        version=proof.release,
        device=_device(proof, deployment),
        weights_gib=_weights_gib(proof),
        block_size=plan.block_size if plan else None,
        kv_tokens=tokens,
        max_concurrency=concurrency,
        features={"prefix_caching": plan.prefix_caching} if plan else {},
        flags=flags_with_values(deployment.args),
    )


def _device(proof: ProofResult, deployment: Deployment) -> ExpectedDevice:
    known = device_memory(deployment.device)
    total = deployment.box.total_memory_gib or (known.total_gib if known is not None else None)
    return ExpectedDevice(proof.device, proof.capability, total)


def _weights_gib(proof: ProofResult) -> float | None:
    """Of target and drafter, as the proof plans them; None where it does not."""
    fitted = proof.memory.plan if proof.memory is not None else None
    if fitted is None or fitted.memory is None:
        return None
    lines = {item.name: item.bytes for item in fitted.memory.lines}
    return lines[_WEIGHTS] / GIB if _WEIGHTS in lines else None


def _note(proof: ProofResult, plan: KvPlan | None) -> str:
    """Where `fit` and the comparison print two numbers of tokens: which is of which pool."""
    fitted = proof.memory.plan if proof.memory is not None else None
    if plan is None or fitted is None:
        return ""
    own = fitted.plan
    return (
        f"tokens are predicted for the {plan.pool_bytes / GIB:.2f} GiB that the log prints; "
        f"fit plans {own.pool_bytes / GIB:.2f} GiB, {own.tokens:,} tokens"
    )


def _nearest(plan: KvPlan, boot: BootLog) -> tuple[int, float]:
    """Two printed decimals of GiB leave up to one block of play: take the count that is there."""
    ends = [
        (plan.tokens, plan.concurrency),
        (plan.tokens_if_more, plan.concurrency_if_more),
        (plan.tokens_if_less, plan.concurrency_if_less),
    ]
    printed = boot.number_of("kv_tokens")
    return next((end for end in ends if end[0] == printed), ends[0])


def expected_backends(layers: Sequence[LayerProof]) -> Iterator[ExpectedBackend]:
    """What the layers' predictions let a boot log print, each once."""
    seen: set[ExpectedBackend] = set()
    for layer in layers:
        prediction = layer.prediction
        if prediction is None or not prediction.oracle or not prediction.selected:
            continue
        kind, _, family = prediction.oracle.partition("/")
        logged = _LOGGED_CLASS.get(kind)
        if logged is None:
            continue
        scheme = family if logged == "experts" or family == "nvfp4" else ""
        item = ExpectedBackend(logged, prediction.selected, scheme, layer.subject in _OF_DRAFTER)
        if item not in seen:
            seen.add(item)
            yield item


def _plan(
    boot: BootLog, release: str, deployment: Deployment
) -> tuple[KvPlan | None, tuple[Unknown, ...]]:
    """The pool's cut, from the bytes that the log prints."""
    pool_gib = next((v for name in _KV_NAMES if (v := boot.number_of(name)) is not None), None)
    if pool_gib is None:
        return None, ()
    request = FitRequest(
        checkpoint=deployment.checkpoint,
        version=release,
        argv=deployment.args,
        device=deployment.device,
        kv_gib=pool_gib,
        total_gib=deployment.box.total_memory_gib,
    )
    try:
        case = read_case(request)
        plan = plan_kv(
            case.shape(),
            int(pool_gib * GIB),
            rounding_bytes=ROUNDING_BYTES,
            blocks=case.args.blocks_override,
        )
    except (UsageError, FormatError) as error:
        why = f"the pool's arithmetic is not known here: {error.message}"
        return None, (Unknown(deployment.checkpoint, why, topic="fit/kv", hint=error.hint),)
    return plan, ()
