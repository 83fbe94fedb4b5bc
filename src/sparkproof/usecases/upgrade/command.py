"""There is a new release: what happens to these deployments if it is taken?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise

import msgspec
from packaging.version import InvalidVersion, Version

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.progress import NoProgress
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.ports import Progress
from sparkproof.core.redaction import redact_arguments, redact_environment
from sparkproof.core.report import Report
from sparkproof.core.results.upgrade import (
    Bite,
    Change,
    DeploymentUpgrade,
    Edit,
    StepChanges,
    UpgradeResult,
)
from sparkproof.core.subject import Subject
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.recipe.deployment_write import write_deployment
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.upgrade.compare import Comparison, compare, mended, verdict_of, without_additions
from sparkproof.upgrade.reported import REPORTS
from sparkproof.upgrade.view import Case
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint, read_from
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.upgrade.sides import Opener, Side, Surfaces, is_number, refuse_missing
from sparkproof.usecases.upgrade.views import Subject as Asked
from sparkproof.usecases.upgrade.views import model_of, view_of

_RULES = {
    Bite.WONT_START: ("upgrade/wont-start", Severity.ERROR),
    Bite.KERNEL: ("upgrade/another-kernel", Severity.WARNING),
    Bite.SIZE: ("upgrade/another-size", Severity.WARNING),
    Bite.BEHAVIOUR: ("upgrade/another-behaviour", Severity.WARNING),
    Bite.LIFTED: ("upgrade/blocker-lifted", Severity.INFO),
}


def no_surfaces(_version: str) -> None:
    """Nothing is shipped."""


class Step(msgspec.Struct, frozen=True):
    """Everything that was found out about one deployment."""

    result: DeploymentUpgrade
    unknowns: tuple[Unknown, ...]


def upgrade(
    deployments: Sequence[Deployment],
    to: str,
    *,
    present: str = "",
    steps: Sequence[str] = (),
    typed: Sequence[str] = (),
    surfaces: Surfaces = no_surfaces,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[UpgradeResult]:
    """Put each deployment to the release it runs on and to another one; tell what bites.

    Args:
        to: a version number, requirement, wheel, folder or image. With a number, shipped
            surfaces are asked on both sides where there are any: no device code is looked at.
        present: what runs now, in place of each deployment's own artifact.
        steps: versions in between, to say which of them brings what; oldest first.
        typed: how the user named the deployments, for what to type next.

    Raises:
        UsageError: nothing was asked, or a deployment names no artifact.
        UnreachableError, FormatError: a release can't be looked at.
    """
    if not deployments:
        raise UsageError(
            "no deployment is named", hint="e.g. sparkproof upgrade a.toml --to 0.33.0"
        )
    device = _device(deployments)
    asked, unread = [], []
    for item in map(_redacted, deployments):
        checkpoint, unknown = _checkpoint(item, cache, offline=offline)
        asked.append(Asked(item, checkpoint))
        unread.append(unknown)
    opener = Opener(
        device.capability,
        deployments[0].box,
        [item.checkpoint.profile for item in asked if item.checkpoint is not None],
        surfaces=surfaces,
        cache=cache,
        offline=offline,
        progress=progress or NoProgress(),
        attention=[parse_selection_args(item.args).attention_backend for item in deployments],
    )
    by_number = is_number(to)
    after = opener.open(to, by_number=by_number)
    done: list[Step] = []
    subjects: list[Subject | None] = [after.subject]
    for one, unknown in zip(asked, unread, strict=True):
        name = one.deployment.name or one.deployment.checkpoint
        reference = refuse_missing(present or one.deployment.artifact, name)
        before = opener.open(reference, by_number=by_number)
        subjects.append(before.subject)
        between = _between(opener, before, after, steps)
        done.append(_one(one, before, after, opener, unknown, between, to))
    return _report(device, after, done, subjects, shlex.join(typed))


def _device(deployments: Sequence[Deployment]) -> Hardware:
    named = {item.device for item in deployments}
    if len(named) > 1:
        raise UsageError(
            f"deployments for different devices: {', '.join(sorted(named))}", hint="ask one by one"
        )
    return find_device(named.pop())


def _redacted(deployment: Deployment) -> Deployment:
    """Without secrets: nothing that is compared hangs on them."""
    return msgspec.structs.replace(
        deployment,
        args=redact_arguments(deployment.args),
        env=redact_environment(deployment.env),
    )


def _checkpoint(
    deployment: Deployment, cache: ArtifactCache | None, *, offline: bool
) -> tuple[ReadCheckpoint | None, tuple[Unknown, ...]]:
    """The checkpoint, or why its picks and sizes are not compared."""
    parse_selection_args(deployment.args)
    try:
        return read_from(deployment.checkpoint, offline=offline, cache=cache), ()
    except (UnreachableError, UsageError, FormatError) as error:
        why = f"not read, so neither kernels nor sizes are compared: {error.message}"
        hint = "name a folder with its config.json: --checkpoint REF"
        return None, (Unknown(deployment.checkpoint, why, "upgrade/checkpoint", hint),)


def _between(opener: Opener, before: Side, after: Side, steps: Sequence[str]) -> list[Side]:
    """The releases on the way that can be looked at, with both ends."""
    try:
        low, high = Version(before.version), Version(after.version)
        inner = [item for item in steps if low < Version(item) < high]
    except InvalidVersion:
        inner = []
    found = [side for version in inner if (side := opener.shipped(version)) is not None]
    return [before, *found, after] if found else []


def _case(asked: Asked, before: Side, after: Side, opener: Opener) -> Case:
    old = view_of(asked, before)
    return Case(
        deployment=asked.deployment,
        model=model_of(asked.checkpoint),
        capability=opener.capability,
        before=old,
        after=view_of(asked, after, given_pool=old.given_pool),
        born=opener.born(before, after),
    )


def _one(
    asked: Asked,
    before: Side,
    after: Side,
    opener: Opener,
    unread: tuple[Unknown, ...],
    between: Sequence[Side],
    to: str,
) -> Step:
    case = _case(asked, before, after, opener)
    found = compare(case)
    steps = _steps(asked, between, opener)
    found, kept, left = _mend(case, found, asked, (before, after), opener)
    artifact = f"vllm=={after.version}" if is_number(to) else to
    shown = msgspec.structs.replace(kept, artifact=artifact)
    delivery = case.after.delivery
    result = DeploymentUpgrade(
        name=asked.deployment.name or asked.deployment.checkpoint,
        before=before.version,
        after=after.version,
        verdict=fold((verdict_of(found, delivery=delivery), _as_read(unread))),
        delivery=delivery,
        changes=_dated(found, steps),
        standing=found.standing,
        deployment=shown,
        toml=write_deployment(shown),
        unresolved=_stopping(left),
        steps=steps,
    )
    return Step(result, (*unread, *_unknowns(asked, before, after)))


def _as_read(unread: Sequence[Unknown]) -> Verdict:
    """A checkpoint that was not read leaves kernels and sizes open."""
    return Verdict.INCONCLUSIVE if unread else Verdict.SKIPPED


def _mend(
    case: Case, found: Comparison, asked: Asked, sides: tuple[Side, Side], opener: Opener
) -> tuple[Comparison, Deployment, Comparison]:
    """The edits that hold, the deployment with them, and what still bites it.

    What took over from a flag is put to the release too: where the successor ends the start, the
    old one is dropped and nothing put in its place.
    """
    for edited in (found, without_additions(found)):
        kept = mended(case, edited)
        if kept == asked.deployment:
            return edited, kept, found
        again = msgspec.structs.replace(asked, deployment=kept)
        left = compare(_case(again, *sides, opener))
        if {c.subject for c in _stopping(left)} <= {c.subject for c in _stopping(found)}:
            break
    return edited, kept, left


def _stopping(comparison: Comparison) -> tuple[Change, ...]:
    rows = (*comparison.changes, *comparison.standing)
    return tuple(item for item in rows if item.bite is Bite.WONT_START)


def _steps(asked: Asked, between: Sequence[Side], opener: Opener) -> tuple[StepChanges, ...]:
    pairs = pairwise(between)
    return tuple(
        StepChanges(old.version, new.version, compare(_case(asked, old, new, opener)).changes)
        for old, new in pairs
    )


def _dated(found: Comparison, steps: Sequence[StepChanges]) -> tuple[Change, ...]:
    """The changes, each with the last release on the way that touches the same thing."""
    dates = {(item.bite, item.subject): step.after for step in steps for item in step.changes}
    return tuple(
        msgspec.structs.replace(item, release=dates.get((item.bite, item.subject), ""))
        for item in found.changes
    )


def _unknowns(asked: Asked, before: Side, after: Side) -> tuple[Unknown, ...]:
    found = [] if asked.checkpoint is None else list(asked.checkpoint.profile.unknowns)
    for side in (before, after):
        found += side.seen.surface.unknowns
        if side.seen.code is None and asked.checkpoint is not None:
            why = "device code was not read: compiled operators count as there, delivery is open"
            hint = f"name the artifact: --to vllm=={after.version}"
            found.append(Unknown(f"vllm {side.version}", why, "upgrade/delivery", hint))
    return tuple(found)


def _report(
    device: Hardware,
    after: Side,
    done: Sequence[Step],
    subjects: Sequence[Subject | None],
    named: str,
) -> Report[UpgradeResult]:
    results = tuple(item.result for item in done)
    result = UpgradeResult(after.version, device.title, results)
    return make_report(
        "upgrade",
        result,
        verdict=fold(item.verdict for item in results),
        summary=_summary(results, after.version),
        subjects=tuple(dict.fromkeys(item for item in subjects if item is not None)),
        criteria=tuple(Criterion(f"upgrade/{r.name}", r.verdict, _reason(r)) for r in results),
        findings=tuple(_finding(r, c) for r in results for c in r.changes if _tells(c)),
        unknowns=tuple(dict.fromkeys(unknown for item in done for unknown in item.unknowns)),
        next_steps=_next_steps(results, named or "DEPLOYMENT"),
    )


def _tells(change: Change) -> bool:
    return change.bite is Bite.WONT_START or change.rests_on == REPORTS


def _finding(result: DeploymentUpgrade, change: Change) -> Finding:
    rule, severity = _RULES[change.bite]
    if change.rests_on == REPORTS:
        rule = "select/reported-here"
    return Finding(
        rule=rule,
        severity=severity,
        confidence=change.confidence,
        message=change.message,
        subject=f"{result.name}: {change.subject}",
        evidence=change.evidence,
        remedy=" and ".join(_typed(edit) for edit in change.edits),
    )


def _typed(edit: Edit) -> str:
    if edit.variable:
        return f"{edit.action.value} {'='.join(filter(None, (edit.name, edit.value)))}"
    return " ".join(filter(None, (edit.action.value, edit.name, *edit.key, edit.value)))


def _reason(result: DeploymentUpgrade) -> str:
    stops = [item for item in (*result.changes, *result.standing) if item.bite is Bite.WONT_START]
    if stops:
        return stops[0].message
    if not result.changes:
        return "nothing that touches it changes"
    counts = {bite: sum(c.bite is bite for c in result.changes) for bite in Bite}
    return ", ".join(f"{bite.value}: {count}" for bite, count in counts.items() if count)


def _summary(results: Sequence[DeploymentUpgrade], version: str) -> str:
    stops = [item for item in results if item.verdict is Verdict.FAIL]
    if stops:
        mendable = sum(not item.unresolved for item in stops)
        told = f"{len(stops)} of {len(results)} would not start on vllm {version} as they are"
        return f"{told}; with the edits below {mendable} of them would" if mendable else told
    touched = sum(bool(item.changes) for item in results)
    unsure = sum(item.verdict is Verdict.INCONCLUSIVE for item in results)
    if unsure:
        told = f"{unsure} of {len(results)} can't be told whole on vllm {version}"
        return f"{told}; {touched} are touched by it as far as could be seen"
    told = f"all start on vllm {version}; {touched} of {len(results)} are touched by it"
    failing = sum(any(c.rests_on == REPORTS for c in item.changes) for item in results)
    if failing:
        told += f", {failing} by a kernel that is reported to fail on this kind of device"
    return told


def _next_steps(results: Sequence[DeploymentUpgrade], named: str) -> tuple[str, ...]:
    if any(not item.delivery for item in results):
        after = results[0].after
        return (
            f"sparkproof upgrade {named} --to vllm=={after}  # looks at the device code as well",
        )
    return ("sparkproof prove DEPLOYMENT  # on what is printed below, then smoke and soak",)
