"""Prove a deployment before it is deployed: declare, select, deliver, verdict, receipt."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.open_artifact import open_artifact, reopen
from sparkproof.adapters.progress import NoProgress
from sparkproof.adapters.store import ReceiptStore
from sparkproof.checkpoint.effective import effective_formats
from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.checkpoint.rules import judge_checkpoint
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.digest import digest, sha256_hex
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Artifact, Progress
from sparkproof.core.receipt import Receipt
from sparkproof.core.redaction import redact_arguments, redact_environment
from sparkproof.core.report import Report
from sparkproof.core.results.proof import Alternative, Branch, ProofResult
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.book import find_device
from sparkproof.facts.fallback import Fallback, fallbacks
from sparkproof.facts.schema import Hardware
from sparkproof.receipts.receipt import seal
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.release.surface import read_surface
from sparkproof.selection.predict import ATTENTION, oracle_of
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.fit_inputs import (
    CheckpointFiles,
    read_checkpoint_files,
    read_deployment,
)
from sparkproof.usecases.prove_branch import TOOLS, Look, prove_branch
from sparkproof.usecases.prove_findings import (
    criteria_of,
    find_in_branches,
    find_sampler,
    summarize,
)


def prove(
    deployment: Deployment,
    *,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
    store: ReceiptStore | None = None,
) -> Report[ProofResult]:
    """Prove a deployment.

    Args:
        deployment: with `checkpoint` as a path that exists here.
        store: where the receipt goes; None for no receipt.

    Raises:
        UsageError: the deployment is wrong as written.
        UnreachableError, FormatError: a part of it can't be looked at.
    """
    progress = progress or NoProgress()
    if not deployment.artifact:
        raise UsageError("the deployment names no artifact", hint="e.g. --artifact vllm==0.33.0")
    device = find_device(deployment.device)
    parse_selection_args(deployment.args)  # refuse nonsense before anything is fetched
    files = read_checkpoint_files(deployment.checkpoint)
    profile = _profile(files)
    target = Target(platform=deployment.box.platform, python=deployment.box.python)
    subject, artifact = open_artifact(
        deployment.artifact, target, cache=cache, offline=offline, progress=progress, whole=True
    )
    try:
        look, code = _look(artifact, device, profile, deployment, progress)
    finally:
        artifact.close()
    report = _report(deployment, device, subject, look, code)
    return report if store is None else _with_receipt(report, store, deployment, files)


def _with_receipt(
    report: Report[ProofResult],
    store: ReceiptStore,
    deployment: Deployment,
    files: CheckpointFiles,
) -> Report[ProofResult]:
    """The report with its receipt's digest; a receipt that can't be written costs no answer."""
    inputs = {
        "deployment": digest(_redacted(deployment)),
        "checkpoint": digest({name: sha256_hex(data) for name, data in _contents(files).items()}),
        "artifact": report.subjects[0].identity,
    }
    try:
        receipt, _ = store.append(partial(_seal, report, inputs))
    except UnreachableError as error:
        finding = Finding(
            rule="receipt/not-written",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=error.message,
            subject="receipt",
            remedy=error.hint,
        )
        return msgspec.structs.replace(report, findings=(*report.findings, finding))
    return msgspec.structs.replace(report, receipt=receipt.hash)


def _seal(report: Report[ProofResult], inputs: dict[str, str], previous: str) -> Receipt:
    return seal(report, inputs=inputs, previous=previous, homes=(str(Path.home()),))


def _contents(files: CheckpointFiles) -> dict[str, bytes]:
    contents = {"config.json": files.config}
    if files.quantization is not None:
        contents["hf_quant_config.json"] = files.quantization
    return contents


def _profile(files: CheckpointFiles) -> CheckpointProfile:
    return read_checkpoint(_contents(files), files.name)


def _look(
    artifact: Artifact,
    device: Hardware,
    profile: CheckpointProfile,
    deployment: Deployment,
    progress: Progress,
) -> tuple[Look, DeviceCode]:
    surface = read_surface(artifact, oracles=_oracles(profile))
    location = artifact.location
    doors = [lambda: reopen(location)] if location else []
    code = read_device_code(artifact, device.capability, progress, more_doors=doors)
    routes = {route.family: route for route in route_families(code, device.capability)}
    look = Look(
        capability=device.capability,
        surface=surface,
        routes=routes,
        complete=not code.unknowns,
        profile=profile,
        effective=effective_formats(profile, surface.version),
        env=dict(deployment.env),
    )
    return look, code


def _oracles(profile: CheckpointProfile) -> tuple[str, ...]:
    """What the checkpoint's layers can be decided by, whatever a release makes of them."""
    return tuple(sorted({*map(oracle_of, profile.formats), ATTENTION} - {""}))


def prove_branches(look: Look, box: Box, arguments: SelectionArgs) -> tuple[Branch, ...]:
    """One branch, or one each way where the box's tools are unstated and it matters."""
    unstated = [tool for tool in TOOLS if getattr(box, tool) is None]
    if not unstated:
        return (prove_branch(look, box, arguments, {}),)
    branches = []
    for answer in (True, False):
        stated = msgspec.structs.replace(box, **dict.fromkeys(unstated, answer))
        assumptions = {f"tool:{tool}": "yes" if answer else "no" for tool in unstated}
        branches.append(prove_branch(look, stated, arguments, assumptions))
    first, second = branches
    if first.layers == second.layers:
        return (msgspec.structs.replace(first, assumptions={}),)
    return first, second


def _alternatives(
    look: Look, deployment: Deployment, arguments: SelectionArgs
) -> tuple[Alternative, ...]:
    """What would change the verdict or the picks, each proven before it is named."""
    found = [_alternative(look, deployment.box, arguments, "as it is")]
    for tool_answer in (True, False):
        box = msgspec.structs.replace(deployment.box, nvcc=tool_answer, ninja=tool_answer)
        if box != deployment.box and None not in (deployment.box.nvcc, deployment.box.ninja):
            word = "with" if tool_answer else "without"
            found.append(_alternative(look, box, arguments, f"{word} nvcc and ninja in the image"))
    for fallback in fallbacks():
        if _applicable(fallback, look.surface):
            forced = parse_selection_args((*deployment.args, *fallback.arguments))
            env = {**look.env, **fallback.variables}
            changed = msgspec.structs.replace(look, env=env)
            found.append(_alternative(changed, deployment.box, forced, fallback.change))
    present = found[0]
    return tuple(
        item
        for item in found[1:]
        if (item.verdict, item.summary) != (present.verdict, present.summary)
    )


def _applicable(fallback: Fallback, surface: ReleaseSurface) -> bool:
    """Whether the release has every flag and variable of it."""
    return all(surface.option(flag) for flag in fallback.flags) and all(
        name in surface.env_names for name in fallback.variables
    )


def _alternative(look: Look, box: Box, arguments: SelectionArgs, change: str) -> Alternative:
    branches = prove_branches(look, box, arguments)
    return Alternative(change, fold(branch.verdict for branch in branches), summarize(branches))


def _report(
    deployment: Deployment,
    device: Hardware,
    subject: Subject,
    look: Look,
    code: DeviceCode,
) -> Report[ProofResult]:
    arguments = parse_selection_args(deployment.args)
    branches = prove_branches(look, deployment.box, arguments)
    kv_dtype = arguments.kv_cache_dtype
    findings = (
        *_platform_findings(subject, deployment.box),
        *find_in_branches(branches, arguments),
        *find_sampler(branches, deployment.box, look),
        *_environment_findings(look),
        *judge_checkpoint(look.profile, look.effective, kv_dtype),
    )
    criteria = criteria_of(branches)
    refused = [f for f in findings if f.rule == "deliver/other-platform"]
    verdict = fold([*(c.verdict for c in criteria), *(Verdict.FAIL for _ in refused)])
    alternatives = _alternatives(look, deployment, arguments)
    return make_report(
        "prove",
        ProofResult(
            deployment=_redacted(deployment),
            device=device.title,
            capability=str(device.capability),
            release=look.surface.version,
            toolkit=_toolkit(code),
            profile=look.profile,
            branches=branches,
            alternatives=alternatives,
        ),
        verdict=verdict,
        summary=summarize(branches),
        subjects=(subject,),
        criteria=criteria,
        findings=findings,
        unknowns=_unknowns(look, code),
        next_steps=_next_steps(verdict, deployment, alternatives),
        facts=_facts(look.capability, branches),
    )


def _redacted(deployment: Deployment) -> Deployment:
    return msgspec.structs.replace(
        deployment,
        args=redact_arguments(deployment.args),
        env=redact_environment(deployment.env),
    )


def _toolkit(code: DeviceCode) -> str:
    return max((library.toolkit for library in code.libraries), default="")


def _unknowns(look: Look, code: DeviceCode) -> tuple[Unknown, ...]:
    return (*look.surface.unknowns, *look.profile.unknowns, *code.unknowns)


def _platform_findings(subject: Subject, box: Box) -> tuple[Finding, ...]:
    platforms = {tag.rpartition("-")[2] for tag in subject.tags}
    fits = not platforms or any(p == "any" or p.endswith(f"_{box.platform}") for p in platforms)
    if fits:
        return ()
    return (
        Finding(
            rule="deliver/other-platform",
            severity=Severity.ERROR,
            confidence=Confidence.SHOWN,
            message=f"built for {', '.join(sorted(platforms))}, the box is {box.platform}",
            subject=subject.title,
            remedy=f"name the requirement (--artifact vllm=={subject.version}) instead of a file",
        ),
    )


def _environment_findings(look: Look) -> tuple[Finding, ...]:
    known = set(look.surface.env_names)
    if not known:
        return ()
    return tuple(
        Finding(
            rule="select/ignored-variable",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=f"vllm {look.surface.version} does not read {name}",
            subject="environment",
            remedy="drop it, and say what it was for with a flag of this release",
        )
        for name in sorted(look.env)
        if name.startswith("VLLM_") and name not in known
    )


def _next_steps(
    verdict: Verdict, deployment: Deployment, alternatives: tuple[Alternative, ...]
) -> tuple[str, ...]:
    if verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE):
        good = [a for a in alternatives if a.verdict is Verdict.PASS]
        steps = tuple(f"{item.change}: {item.summary}" for item in good[:2])
        return steps or ("`sparkproof explain RULE` for each finding's rule says what to do",)
    del deployment
    return ()


def _facts(capability: ComputeCapability, branches: tuple[Branch, ...]) -> tuple[str, ...]:
    layers = [layer.prediction for branch in branches for layer in branch.layers]
    classes = {item.implementation for item in layers if item and item.implementation}
    return (f"hardware/{capability}", *(f"backends/{name}" for name in sorted(classes)))


def deployment_from(path: Path) -> Deployment:
    """Read a deployment TOML; its checkpoint is looked for beside it."""
    return read_deployment(path)
