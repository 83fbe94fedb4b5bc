"""One deployment as one release sees it: the proof, the memory plan and the claims."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError, RefusedFlagError, UnreachableError, UsageError
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.observations.checkpoint_profile import LayerClass
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.upgrade.view import FLAG_REFUSED, Model, View
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint
from sparkproof.usecases.fit.case import request_of
from sparkproof.usecases.fit.command import FitRequest, fit
from sparkproof.usecases.line_findings import refused_together
from sparkproof.usecases.prove.alternatives import prove_branches
from sparkproof.usecases.prove.arguments import selection_args
from sparkproof.usecases.prove.memory import OF_FLAGS
from sparkproof.usecases.upgrade.reported import reported_of
from sparkproof.usecases.upgrade.sides import Side

_POOL_GIB = 10.0
"""Pool that two releases are compared on where the weights are not known."""
_POOL_FLAG = "--kv-cache-memory-bytes"


class Subject(msgspec.Struct, frozen=True):
    """A deployment, with its checkpoint where that could be read."""

    deployment: Deployment
    checkpoint: ReadCheckpoint | None


def model_of(checkpoint: ReadCheckpoint | None) -> Model:
    """What the rules of a release ask of a checkpoint."""
    if checkpoint is None:
        return Model()
    profile = checkpoint.profile
    classes = {item.layer_class for item in profile.formats}
    return Model(
        read=True,
        architectures=profile.architectures,
        quant_method=profile.quant_method,
        moe=LayerClass.EXPERTS in classes,
        hybrid=LayerClass.LINEAR_ATTENTION in classes,
        vision=LayerClass.VISION in classes,
    )


def view_of(asked: Subject, side: Side, *, given_pool: bool = False) -> View:
    """The deployment on that release; without a checkpoint only its words can be compared.

    Args:
        given_pool: it is known already that the weights are not.
    """
    plain = View(
        surface=side.seen.surface,
        claims=side.claims,
        delivery=side.seen.code is not None,
    )
    deployment = asked.deployment
    if asked.checkpoint is None:
        refusals = refused_together(side.seen.surface, deployment, {})
        return msgspec.structs.replace(plain, refusals=refusals)
    arguments = selection_args(side.seen.surface, deployment.args)
    look = side.seen.look_at(asked.checkpoint.profile, deployment.env)
    given_pool = given_pool or _without_weights(asked.checkpoint, deployment)
    plan, given, refusals = _plan(deployment, side.seen.surface, given_pool=given_pool)
    together = refused_together(side.seen.surface, deployment, asked.checkpoint.files)
    told = " ".join(refusals.values())
    refusals |= {flag: message for flag, message in together.items() if flag not in told}
    box = side.seen.box_of(deployment.box)
    branches = prove_branches(look, box, arguments)
    boxed = msgspec.structs.replace(deployment, box=box)
    return msgspec.structs.replace(
        plain,
        branches=branches,
        reported=reported_of(look, boxed, branches),
        plan=plan,
        given_pool=given,
        refusals=refusals,
    )


def _without_weights(checkpoint: ReadCheckpoint, deployment: Deployment) -> bool:
    """Whether nothing tells the pool: a config.json alone, and no flag that says its bytes."""
    told = any(word.replace("_", "-").startswith(_POOL_FLAG) for word in deployment.args)
    folder = Path(deployment.checkpoint).expanduser().is_dir()
    return checkpoint.profile.stored is None and not folder and not told


def _plan(
    deployment: Deployment, surface: ReleaseSurface, *, given_pool: bool
) -> tuple[KvPlan | None, bool, dict[str, str]]:
    """The plan, whether its pool is only given, and what would keep the engine from starting."""
    request = request_of(deployment, surface)
    if given_pool:
        return _on_given_pool(request)
    try:
        report = fit(request)
    except RefusedFlagError as error:
        return None, False, {FLAG_REFUSED: error.message}
    except UsageError:
        return _on_given_pool(request)
    except (UnreachableError, FormatError):
        return None, False, {}
    return _result(report), False, _stops(report.findings)


def _stops(findings: Iterable[Finding]) -> dict[str, str]:
    """What a proof fails on too, by rule."""
    return {
        item.rule: f"{item.subject}: {item.message}" if item.subject else item.message
        for item in findings
        if item.severity is Severity.ERROR
    }


def _on_given_pool(request: FitRequest) -> tuple[KvPlan | None, bool, dict[str, str]]:
    trial = msgspec.structs.replace(request, kv_gib=_POOL_GIB, trial=True)
    try:
        report = fit(trial)
        of_flags = [item for item in report.findings if item.rule in OF_FLAGS]
        return _result(report), True, _stops(of_flags)
    except RefusedFlagError as error:
        return None, True, {FLAG_REFUSED: error.message}
    except UsageError as error:
        return None, True, {"memory/refused": error.message}
    except (UnreachableError, FormatError):
        return None, True, {}


def _result(report: Report[FitResult]) -> KvPlan | None:
    return report.result.plan if report.result is not None else None
