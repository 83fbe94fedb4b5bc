"""Which kernel every layer class gets: several checkpoints side by side, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.progress import NoProgress
from sparkproof.adapters.store import ReceiptStore
from sparkproof.checkpoint.rules import checkpoint_errors, judge_checkpoint
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Finding, worst_first
from sparkproof.core.ports import Progress
from sparkproof.core.redaction import redact_arguments
from sparkproof.core.report import Report
from sparkproof.core.results.proof import Branch
from sparkproof.core.results.select import (
    Selection,
    SelectionBranch,
    SelectResult,
)
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.subject import Subject
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict, criteria_of_errors, fold
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.flag_choices import try_flags
from sparkproof.usecases.line_findings import surroundings_of
from sparkproof.usecases.looking import Seen
from sparkproof.usecases.other_platform import find_other_platform
from sparkproof.usecases.outcomes import outcome_of
from sparkproof.usecases.prove.alternatives import find_alternatives, prove_branches
from sparkproof.usecases.prove.arguments import (
    as_criterion,
    find_overruled_arguments,
    find_refused_arguments,
    selection_args,
)
from sparkproof.usecases.prove.branch import Look
from sparkproof.usecases.prove.findings import find_in_branches
from sparkproof.usecases.prove.summary import criteria_of, passes_with, summarize
from sparkproof.usecases.prove.surroundings import (
    find_ignored_variables,
    find_sampler,
    find_unread_release,
)
from sparkproof.usecases.reported import find_reports, reported_criterion
from sparkproof.usecases.select_sources import Asked, Door, group_by_source, read_asked, see
from sparkproof.usecases.shown import find_failures_shown, find_shown, shown_criteria

_NO_NAMES = frozenset({"checkpoint", "config.json", "model"})
_STEPS = 4
_PICKS = Criterion(
    "select/picks", Verdict.PASS, "what is picked is told; what it needs was not looked at"
)
"""Of a shipped surface: nothing of it can be skipped for want of an artifact."""


class _Column(msgspec.Struct, frozen=True):
    selection: Selection
    criteria: tuple[Criterion, ...]
    findings: tuple[Finding, ...]
    unknowns: tuple[Unknown, ...]
    summary: str


def select(
    deployments: Sequence[Deployment],
    *,
    vllm: str = "",
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
    store: ReceiptStore | None = None,
) -> Report[SelectResult]:
    """Predict the pick of every layer class of every deployment's checkpoint.

    Artifacts that several deployments share are read once.

    Args:
        vllm: released version whose shipped surface stands in for every artifact; what would be
            delivered is unknown then.
        store: asked what a server showed before of the same; None for no store.

    Raises:
        UsageError: nothing was asked, devices differ, or a deployment is wrong as written.
        UnreachableError, FormatError: a part can't be looked at.
    """
    door = Door(cache, progress or NoProgress(), offline)
    device = _device(deployments)
    asked = [read_asked(item, vllm, door) for item in deployments]
    subjects: list[Subject] = [item.checkpoint.subject for item in asked]
    columns: dict[int, _Column] = {}
    for source, indices in group_by_source(deployments, vllm).items():
        members = [asked[index] for index in indices]
        subject, seen = see(source, members, device.capability, door)
        subjects.append(subject)
        for index in indices:
            column = _column(seen, subject, asked[index], device)
            columns[index] = _with_shown(column, deployments[index], vllm, store)
    return _report(device, [columns[index] for index in sorted(columns)], subjects)


def _device(deployments: Sequence[Deployment]) -> Hardware:
    named = {item.device for item in deployments}
    if len(named) != 1:
        told = f"deployments for different devices: {', '.join(sorted(named))}"
        raise UsageError(told if named else "no checkpoint is named", hint="give --device")
    return find_device(named.pop())


def _column(seen: Seen, subject: Subject, asked: Asked, device: Hardware) -> _Column:
    deployment = asked.deployment
    arguments = selection_args(seen.surface, deployment.args)
    deployment = msgspec.structs.replace(deployment, box=seen.box_of(deployment.box))
    profile = asked.checkpoint.profile
    look = seen.look_at(profile, deployment.env)
    branches = prove_branches(look, deployment.box, arguments)
    in_branches = find_in_branches(branches, arguments)
    refused = (
        *find_other_platform(subject, deployment.box.platform),
        *find_refused_arguments(
            look.surface,
            deployment.args,
            in_branches,
            surroundings_of(deployment, asked.checkpoint.files),
        ),
    )
    judged = judge_checkpoint(profile, look.effective, arguments.kv_cache_dtype)
    amiss = criteria_of_errors(checkpoint_errors(judged))
    selection = Selection(
        name=_name(deployment, profile.name),
        architectures=profile.architectures,
        method=profile.quant_method,
        release=seen.surface.version,
        source=subject.title,
        delivery_known=seen.code is not None,
        args=redact_arguments(deployment.args),
        branches=tuple(_branch(look, branch, arguments, device) for branch in branches),
        choices=()
        if amiss
        else try_flags(look, deployment.box, arguments, branches, device.device_class),
        changes=() if refused or amiss else find_alternatives(look, deployment, arguments),
    )
    reported = find_reports(look, branches, arguments, device.device_class)
    findings = (
        *refused,
        *in_branches,
        *reported,
        *find_sampler(deployment.box, look),
        *find_unread_release(branches, look.surface.version),
        *find_ignored_variables(look),
        *find_overruled_arguments(look.surface, deployment.args),
        *judged,
    )
    unread = seen.code.unknowns if seen.code is not None else ()
    unknowns = (*profile.unknowns, *seen.surface.unknowns, *unread)
    criteria = (
        *map(as_criterion, refused),
        *criteria_of(branches),
        *map(reported_criterion, reported),
        *amiss,
    )
    if seen.code is None:
        criteria = (*criteria, _PICKS)
    summary = refused[0].message if refused else _told_first(branches, amiss)
    return _Column(selection, criteria, findings, unknowns, summary)


def _told_first(branches: Sequence[Branch], amiss: Sequence[Criterion]) -> str:
    """The kernels, unless they are all right and the checkpoint is not."""
    selected = fold(branch.verdict for branch in branches)
    if amiss and selected is not Verdict.FAIL:
        return amiss[0].reason
    return summarize(branches)


def _with_shown(
    column: _Column, deployment: Deployment, vllm: str, store: ReceiptStore | None
) -> _Column:
    """The column with what a server showed before; none of it changes the verdict."""
    if store is None:
        return column
    artifact = f"vllm=={vllm}" if vllm else deployment.artifact
    found = find_shown(store, msgspec.structs.replace(deployment, artifact=artifact))
    return msgspec.structs.replace(
        column,
        selection=msgspec.structs.replace(column.selection, shown=found),
        criteria=(*column.criteria, *shown_criteria(found)),
        findings=(*column.findings, *find_failures_shown(found)),
    )


def _name(deployment: Deployment, checkpoint: str) -> str:
    """The deployment's, where it has one of its own; else where its checkpoint lies."""
    here = Path(deployment.checkpoint)
    return deployment.name if deployment.name not in ("", here.name) else str(here) or checkpoint


def _branch(
    look: Look, branch: Branch, arguments: SelectionArgs, device: Hardware
) -> SelectionBranch:
    layers = tuple(
        outcome_of(look, layer, arguments, device.device_class) for layer in branch.layers
    )
    return SelectionBranch(branch.assumptions, branch.verdict, layers)


def _report(
    device: Hardware, columns: Sequence[_Column], subjects: Sequence[Subject]
) -> Report[SelectResult]:
    names = name_columns([column.selection.name for column in columns])
    verdict = fold(c.verdict for column in columns for c in column.criteria)
    several = len(columns) > 1
    told = zip(names, columns, strict=True)
    return make_report(
        "select",
        SelectResult(
            device=device.title,
            capability=str(device.capability),
            columns=tuple(
                msgspec.structs.replace(column.selection, name=name)
                for name, column in zip(names, columns, strict=True)
            ),
        ),
        verdict=verdict,
        summary=_summary(names, columns),
        next_steps=_next_steps(names, columns, verdict),
        subjects=tuple(dict.fromkeys(subjects)),
        criteria=tuple(
            _prefixed_criterion(item, name if several else "")
            for name, column in told
            for item in column.criteria
        ),
        findings=_findings(names, columns),
        unknowns=tuple(dict.fromkeys(item for column in columns for item in column.unknowns)),
        facts=_facts(device, columns),
    )


def name_columns(given: Sequence[str]) -> list[str]:
    """Names that tell the columns apart, short enough for a table."""
    paths = [_named_parts(name) for name in given]
    for parts in (1, 2, 3):
        names = ["/".join(path[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{path[-1]} ({number})" for number, path in enumerate(paths, 1)]


def _named_parts(name: str) -> tuple[str, ...]:
    """Of a path or a repository, without a last part that says what it is and not which."""
    parts = Path(name).parts or (name,)
    while len(parts) > 1 and parts[-1] in _NO_NAMES:
        parts = parts[:-1]
    return parts


def _summary(names: Sequence[str], columns: Sequence[_Column]) -> str:
    if len(columns) == 1:
        return columns[0].summary
    verdicts = [fold(c.verdict for c in column.criteria) for column in columns]
    pairs = zip(names, verdicts, strict=True)
    return "; ".join(f"{name}: {verdict.value}" for name, verdict in pairs)


def _next_steps(
    names: Sequence[str], columns: Sequence[_Column], verdict: Verdict
) -> tuple[str, ...]:
    """Changes that pass where it does not; without any, the page of the rule that fired."""
    if verdict not in (Verdict.FAIL, Verdict.INCONCLUSIVE):
        return ()
    steps = []
    for name, column in zip(names, columns, strict=True):
        if fold(c.verdict for c in column.criteria) not in (Verdict.PASS, Verdict.SKIPPED):
            owner = f"{name} " if len(columns) > 1 else "it "
            good = [item for item in column.selection.changes if item.verdict is Verdict.PASS]
            steps += [f"{owner}{passes_with(item.change)}" for item in good[:2]]
    rules = [item.rule for item in worst_first(f for c in columns for f in c.findings)]
    return tuple(steps[:_STEPS]) or tuple(f"sparkproof explain {rule}" for rule in rules[:1])


def _prefixed_criterion(item: Criterion, name: str) -> Criterion:
    return msgspec.structs.replace(item, name=f"{name}/{item.name}") if name else item


def _findings(names: Sequence[str], columns: Sequence[_Column]) -> tuple[Finding, ...]:
    """Findings of all columns; what several say is told once, with all their names."""
    shared: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for name, column in zip(names, columns, strict=True):
        for finding in column.findings:
            shared.setdefault((finding.rule, finding.message), []).append((name, finding))
    ordered = sorted(shared.values(), key=lambda group: group[0][1].severity.rank)
    return tuple(_joined(group, len(columns)) for group in ordered)


def _joined(group: Sequence[tuple[str, Finding]], columns: int) -> Finding:
    """One finding; without the names where every column has it of the same layers."""
    first = group[0][1]
    if len({name for name, _ in group}) == columns and len({f.subject for _, f in group}) == 1:
        return first
    subjects = (f"{name}: {item.subject}" if item.subject else name for name, item in group)
    evidence = tuple(dict.fromkeys(found for _, item in group for found in item.evidence))
    return msgspec.structs.replace(first, subject="; ".join(subjects), evidence=evidence)


def _facts(device: Hardware, columns: Sequence[_Column]) -> tuple[str, ...]:
    used = {
        fact
        for column in columns
        for branch in column.selection.branches
        for layer in branch.layers
        for told in layer.told
        for fact in told.facts
    }
    return (f"hardware/{device.id}", "gates/operators", *sorted(used))
