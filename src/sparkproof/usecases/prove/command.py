"""Prove a deployment before it is deployed: declare, select, deliver, verdict, receipt."""

from __future__ import annotations

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.adapters.progress import NoProgress
from sparkproof.adapters.store import ReceiptStore
from sparkproof.checkpoint.rules import checkpoint_errors, judge_checkpoint
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest, sha256_hex
from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Finding, Severity, worst_first
from sparkproof.core.ports import Progress
from sparkproof.core.redaction import redact_arguments, redact_environment
from sparkproof.core.report import Report
from sparkproof.core.results.proof import Alternative, Branch, ProofResult, Shown
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.facts.backend import backends
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.upgrade.view import FLAG_REFUSED
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint, read_from
from sparkproof.usecases.code_reading import BUILT, UNBUILT
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.keep import keep
from sparkproof.usecases.line_findings import surroundings_of
from sparkproof.usecases.looking import Seen, see_artifact
from sparkproof.usecases.other_platform import find_other_platform
from sparkproof.usecases.prove.alternatives import find_alternatives, prove_branches
from sparkproof.usecases.prove.arguments import (
    as_criterion,
    find_overruled_arguments,
    find_refused_arguments,
    is_told,
    selection_args,
)
from sparkproof.usecases.prove.branch import Look
from sparkproof.usecases.prove.findings import find_in_branches
from sparkproof.usecases.prove.log import with_log
from sparkproof.usecases.prove.memory import Fitted, find_fit
from sparkproof.usecases.prove.summary import criteria_of, passes_with, summarize
from sparkproof.usecases.prove.surroundings import (
    find_ignored_variables,
    find_moving_tag,
    find_sampler,
    find_unread_release,
    sampler_condition,
)
from sparkproof.usecases.reported import find_reports, reported_criterion
from sparkproof.usecases.shown import find_failures_shown, find_shown, shown_criteria
from sparkproof.usecases.vllm_word import refuse_bare_word


def prove(
    deployment: Deployment,
    *,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
    store: ReceiptStore | None = None,
    log: str = "",
) -> Report[ProofResult]:
    """Prove a deployment.

    Args:
        deployment: with `checkpoint` as a path that exists here.
        log: boot log to hold the proof against: a file, ``container:NAME`` or ``unit:NAME``.
        store: where the receipt goes; None for no receipt.

    Raises:
        UsageError: the deployment is wrong as written.
        UnreachableError, FormatError: a part of it can't be looked at.
    """
    progress, given = progress or NoProgress(), deployment
    if not deployment.artifact:
        raise UsageError("the deployment names no artifact", hint="e.g. --artifact vllm==0.33.0")
    refuse_bare_word(deployment.artifact)
    device = find_device(deployment.device)
    arguments = parse_selection_args(deployment.args)
    checkpoint = read_from(deployment.checkpoint, offline=offline, cache=cache, progress=progress)
    target = Target(platform=deployment.box.platform, python=deployment.box.python)
    opened = subject, artifact = open_artifact(
        deployment.artifact, target, cache=cache, offline=offline, progress=progress, whole=True
    )
    try:
        seen = see_artifact(
            opened,
            device.capability,
            deployment.box,
            (checkpoint.profile,),
            progress,
            attention=arguments.attention_backends,
            cache=cache,
        )
    finally:
        artifact.close()
    deployment = msgspec.structs.replace(deployment, box=seen.box_of(deployment.box))
    report = _report(deployment, device, (subject, checkpoint.subject), seen, checkpoint)
    if store is not None:
        report = _with_shown(report, find_shown(store, given))
    if log:
        report = with_log(report, log, deployment)
    return keep(report, store, _inputs(report, deployment, checkpoint))


def _with_shown(report: Report[ProofResult], found: tuple[Shown, ...]) -> Report[ProofResult]:
    """The report with what a server showed before; none of it changes the verdict."""
    assert report.result is not None
    return msgspec.structs.replace(
        report,
        result=msgspec.structs.replace(report.result, shown=found),
        criteria=(*report.criteria, *shown_criteria(found)),
        findings=(*report.findings, *find_failures_shown(found)),
    )


def _inputs(
    report: Report[ProofResult], deployment: Deployment, checkpoint: ReadCheckpoint
) -> dict[str, str]:
    """Digests of what the answer rests on."""
    return {
        "deployment": digest(_redacted(deployment)),
        "checkpoint": digest({name: sha256_hex(data) for name, data in checkpoint.files.items()}),
        "artifact": report.subjects[0].identity,
    }


def _report(
    deployment: Deployment,
    device: Hardware,
    subjects: tuple[Subject, Subject],
    seen: Seen,
    checkpoint: ReadCheckpoint,
) -> Report[ProofResult]:
    look = seen.look_at(checkpoint.profile, deployment.env)
    arguments = selection_args(look.surface, deployment.args)
    branches = prove_branches(look, deployment.box, arguments)
    in_branches = find_in_branches(branches, arguments)
    refused = _refused(subjects[0], look, deployment, checkpoint, in_branches)
    reported = find_reports(look, branches, arguments, device.device_class)
    fitted = find_fit(deployment, checkpoint, look.surface, arguments)
    findings = worst_first(
        (
            *refused,
            *in_branches,
            *(item for item in fitted.findings if not is_told(item, refused)),
            *reported,
            *_surroundings(look, deployment, arguments, branches, subjects[0]),
        )
    )
    criteria = (
        *map(as_criterion, refused),
        *criteria_of(branches),
        fitted.criterion,
        *map(reported_criterion, reported),
    )
    verdict = fold(item.verdict for item in criteria)
    unbuilt = seen.code is not None and any(u.why == UNBUILT for u in seen.code.unknowns)
    hopeless = refused or unbuilt or checkpoint_errors(findings)
    alternatives = () if hopeless else find_alternatives(look, deployment, arguments)
    kernels = f"{subjects[0].title} {UNBUILT}" if unbuilt else summarize(branches)
    caveats = _caveats(deployment, look, fitted, verdict)
    return make_report(
        "prove",
        ProofResult(
            deployment=_redacted(deployment),
            device=device.title,
            capability=str(device.capability),
            release=look.surface.version,
            toolkit=seen.toolkit,
            profile=look.profile,
            branches=branches,
            alternatives=alternatives,
            memory=fitted.memory,
        ),
        verdict=verdict,
        summary=_summary(refused, fitted.refusal, kernels, caveats),
        subjects=subjects,
        criteria=criteria,
        findings=findings,
        unknowns=(*_unknowns(look, seen), *fitted.unknowns),
        next_steps=(BUILT,) if unbuilt else _next_steps(branches, alternatives, findings),
        facts=_facts(device, branches),
    )


def _refused(
    artifact: Subject,
    look: Look,
    deployment: Deployment,
    checkpoint: ReadCheckpoint,
    told: tuple[Finding, ...],
) -> tuple[Finding, ...]:
    """What ends the server before it loads anything."""
    beside = surroundings_of(deployment, checkpoint.files)
    return (
        *find_other_platform(artifact, deployment.box.platform),
        *find_refused_arguments(look.surface, deployment.args, told, beside),
    )


def _surroundings(
    look: Look,
    deployment: Deployment,
    arguments: SelectionArgs,
    branches: tuple[Branch, ...],
    artifact: Subject,
) -> tuple[Finding, ...]:
    """What stands around the kernels, and the checkpoint's own rules."""
    return (
        *find_sampler(deployment.box, look),
        *find_moving_tag(deployment.artifact, artifact),
        *find_unread_release(branches, look.surface.version),
        *find_ignored_variables(look),
        *find_overruled_arguments(look.surface, deployment.args),
        *judge_checkpoint(look.profile, look.effective, arguments.kv_cache_dtype),
    )


def _summary(
    refused: tuple[Finding, ...],
    unfit: Finding | None,
    kernels: str,
    caveats: tuple[str, ...],
) -> str:
    """One line: what keeps it from running, else the kernels and what a pass does not cover."""
    if refused:
        return refused[0].message
    if unfit is None:
        return " | ".join((kernels, *caveats))
    if unfit.rule == FLAG_REFUSED:
        return f"{unfit.message} | {kernels}"
    where = f"{unfit.subject}: " if unfit.subject else ""
    return f"it does not fit: {where}{unfit.message} | {kernels}"


def _caveats(
    deployment: Deployment, look: Look, fitted: Fitted, verdict: Verdict
) -> tuple[str, ...]:
    """What whoever reads the headline alone must not miss beside a pass."""
    if verdict is not Verdict.PASS:
        return ()
    found = (sampler_condition(deployment.box, look), fitted.caveat)
    return tuple(filter(None, found))


def _redacted(deployment: Deployment) -> Deployment:
    return msgspec.structs.replace(
        deployment,
        args=redact_arguments(deployment.args),
        env=redact_environment(deployment.env),
    )


def _unknowns(look: Look, seen: Seen) -> tuple[Unknown, ...]:
    unread = seen.code.unknowns if seen.code is not None else ()
    return (*look.surface.unknowns, *look.profile.unknowns, *unread)


def _next_steps(
    branches: tuple[Branch, ...],
    alternatives: tuple[Alternative, ...],
    findings: tuple[Finding, ...],
) -> tuple[str, ...]:
    """Changes that pass, where the kernels are what does not."""
    if fold(branch.verdict for branch in branches) not in (Verdict.FAIL, Verdict.INCONCLUSIVE):
        errors = [item for item in findings if item.severity is Severity.ERROR]
        return tuple(item.remedy or f"sparkproof explain {item.rule}" for item in errors[:1])
    good = [item for item in alternatives if item.verdict is Verdict.PASS]
    if good:
        return tuple(f"it {passes_with(item.change)}" for item in good[:2])
    return tuple(item.remedy or f"sparkproof explain {item.rule}" for item in findings[:1])


def _facts(device: Hardware, branches: tuple[Branch, ...]) -> tuple[str, ...]:
    layers = [layer.prediction for branch in branches for layer in branch.layers]
    classes = {item.implementation for item in layers if item and item.implementation}
    return (
        f"hardware/{device.id}",
        "gates/operators",
        *(f"backends/{name}" for name in sorted(classes & backends().keys())),
    )
