"""Whether a proven deployment fits its box: what `fit` says of it, as a link of the proof."""

from __future__ import annotations

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import (
    FormatError,
    RefusedFlagError,
    SparkproofError,
    UnreachableError,
    UsageError,
)
from sparkproof.core.finding import Confidence, Finding, Severity, worst_first
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.core.results.proof import Memory
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.memory.item_budget import ITEMS
from sparkproof.upgrade.view import FLAG_REFUSED
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint
from sparkproof.usecases.fit.case import FitRequest, request_of
from sparkproof.usecases.fit.command import fit
from sparkproof.usecases.fit.inputs import CheckpointFiles, files_of
from sparkproof.usecases.prove.graphs import find_uncaptured
from sparkproof.usecases.prove.images import find_encoder_budget

FIT = "fit"
_TRIAL_GIB = 10.0
"""Pool under which flags are judged where nothing tells its size."""
OF_FLAGS = frozenset(
    f"memory/{slug}"
    for slug in (
        "batched-tokens",
        "discrete-utilization",
        "item-above-batch",
        "no-draft-head",
        "pins-clash",
        "share-beside-pin",
    )
)
"""Rules that say the same whatever the pool is."""
_HINT = "give --weights-gib GIB as a boot log prints it, or name the folder with its shards"


class Fitted(msgspec.Struct, frozen=True):
    """The memory link of one proof.

    Attributes:
        sequences: that the scheduler admits, 0 where that can't be told.
        wanted: the option that lets it be planned ("" where none would do).
    """

    memory: Memory
    criterion: Criterion
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    sequences: int = 0
    wanted: str = ""

    @property
    def caveat(self) -> str:
        """What a headline has to say where the memory is not planned; "" where it is."""
        if self.criterion.verdict is not Verdict.SKIPPED:
            return ""
        return "memory not planned" + (f": give {self.wanted}" if self.wanted else ", see `fit`")

    @property
    def refusal(self) -> Finding | None:
        """What keeps it from running, where something does."""
        if self.criterion.verdict is not Verdict.FAIL:
            return None
        return next(item for item in self.findings if item.severity is Severity.ERROR)


def find_fit(
    deployment: Deployment,
    checkpoint: ReadCheckpoint,
    surface: ReleaseSurface,
    arguments: SelectionArgs,
) -> Fitted:
    """Plan the memory; what can't be planned is an unknown, never an error."""
    fitted = _planned(deployment, files_of(checkpoint, deployment.checkpoint), surface)
    uncaptured = find_uncaptured(deployment, surface, fitted.sequences)
    encoder = tuple(find_encoder_budget(deployment, checkpoint.profile, surface, arguments))
    images = tuple(f"{item.message}; {item.remedy}" for item in encoder)
    notes = (*fitted.memory.notes, *images)
    return msgspec.structs.replace(
        fitted,
        memory=msgspec.structs.replace(fitted.memory, notes=notes),
        findings=worst_first((*fitted.findings, *uncaptured, *encoder)),
    )


def _planned(deployment: Deployment, files: CheckpointFiles, surface: ReleaseSurface) -> Fitted:
    request = request_of(deployment, surface)
    try:
        return _fitted(fit(request, files))
    except RefusedFlagError as error:
        return _refused(error)
    except UsageError as error:
        return _of_flags(request, files, error)
    except (UnreachableError, FormatError) as error:
        return _unplanned(error)


def _fitted(report: Report[FitResult]) -> Fitted:
    errors = [item for item in report.findings if item.severity is Severity.ERROR]
    reason = errors[0].message if errors else report.summary
    held = Verdict.PASS if report.result is not None else Verdict.SKIPPED
    return Fitted(
        memory=Memory(report.summary, report.result),
        criterion=Criterion(FIT, Verdict.FAIL if errors else held, reason),
        findings=report.findings,
        unknowns=report.unknowns,
        sequences=_sequences(report),
    )


def _sequences(report: Report[FitResult]) -> int:
    return report.result.plan.sequences if report.result is not None else 0


def _refused(error: RefusedFlagError) -> Fitted:
    finding = Finding(
        rule=FLAG_REFUSED,
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=f"vLLM refuses: {error.message}",
        subject="arguments",
        remedy=error.hint,
    )
    criterion = Criterion(FIT, Verdict.FAIL, finding.message)
    return Fitted(Memory(finding.message), criterion, (finding,))


def _of_flags(request: FitRequest, files: CheckpointFiles, why: UsageError) -> Fitted:
    """Without a size for the pool: what the flags alone give away."""
    try:
        report = fit(msgspec.structs.replace(request, kv_gib=_TRIAL_GIB, trial=True), files)
    except SparkproofError:
        return _unplanned(why)
    kept = tuple(item for item in report.findings if item.rule in OF_FLAGS)
    errors = [item for item in kept if item.severity is Severity.ERROR]
    fitted = _unplanned(why, _HINT)
    items = tuple(item for item in report.unknowns if item.topic == ITEMS)
    if errors:
        fitted = msgspec.structs.replace(
            fitted, criterion=Criterion(FIT, Verdict.FAIL, errors[0].message)
        )
    return msgspec.structs.replace(
        fitted,
        findings=kept,
        unknowns=(*fitted.unknowns, *items),
        sequences=_sequences(report),
        wanted="--weights-gib" if request.weights_gib is None else "",
    )


def _unplanned(error: SparkproofError, hint: str = "") -> Fitted:
    """Not planned, which decides nothing.

    Args:
        hint: where nothing is amiss but that the weights are not at hand.
    """
    why = f"not planned: {error.message}"
    way_out = hint or (f"ask `sparkproof fit`: {error.hint}" if error.hint else "")
    unread = Unknown("KV pool", why, topic="fit/kv", hint=way_out)
    return Fitted(
        memory=Memory(why, notes=(way_out,) if way_out else ()),
        criterion=Criterion(FIT, Verdict.SKIPPED, why),
        unknowns=() if hint else (unread,),
    )
