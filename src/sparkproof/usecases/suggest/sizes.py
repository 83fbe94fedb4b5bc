"""How large a suggested server is: context, requests, and the share of the box that holds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.finding import Severity
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.core.results.suggest import SuggestedLine
from sparkproof.core.verdict import Verdict
from sparkproof.facts.advice import Purpose, advice
from sparkproof.facts.book import find_device
from sparkproof.facts.memory_book import device_memory
from sparkproof.usecases.fit.arguments import arguments_of
from sparkproof.usecases.fit.command import FitRequest, fit
from sparkproof.usecases.suggest.lines import Numbers

_GIB = 1 << 30
_TRIAL_GIB = 8.0
_HALVINGS = 4
_SHARE, _POOL = "--gpu-memory-utilization", "--kv-cache-memory-bytes"


class Sized(msgspec.Struct, frozen=True):
    """The numbers, and what they were found on.

    Attributes:
        unsized: why no share of the box is known ("" if it is).
        trouble: why it does not fit ("" if it does).
    """

    numbers: Numbers
    plan: KvPlan | None = None
    unsized: str = ""
    trouble: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether it fits; what can't be added up costs no verdict, and is told."""
        return Verdict.FAIL if self.trouble else Verdict.PASS


Build = Callable[[Sized], tuple[tuple[SuggestedLine, ...], Deployment]]


def size_of(
    build: Build,
    purpose: Purpose,
    profile: CheckpointProfile,
    version: str,
    weights_gib: float | None,
) -> Sized:
    """Requests that fit, halved until they do, and the least share that holds them."""
    context = min(purpose.context, profile.max_position or purpose.context)
    sequences = purpose.sequences
    found = Sized(Numbers(context, sequences), unsized="the layers are not known")
    for _ in range(_HALVINGS + 1):
        found = _attempt(build, Numbers(context, sequences), version, weights_gib)
        if not found.trouble or sequences == 1:
            return found
        sequences = max(1, sequences // 2)
    return found


def _attempt(build: Build, numbers: Numbers, version: str, weights_gib: float | None) -> Sized:
    _, deployment = build(Sized(numbers))
    request = _request(deployment, version, numbers, weights_gib)
    try:
        report = fit(request)
    except UsageError as error:
        return _by_pool(build, request, numbers, error.message)
    except (UnreachableError, FormatError) as error:
        return Sized(numbers, unsized=error.message)
    if report.result is None:
        return Sized(numbers, unsized=report.summary)
    solved = _solved(report, _SHARE)
    if not solved:
        return Sized(numbers, trouble=f"{numbers.sequences} requests fit in no share of this box")
    share = math.ceil((solved + float(advice()["share-margin"].value)) * 100) / 100
    final = msgspec.structs.replace(
        numbers,
        share=min(share, 0.99),
        share_reason=f"the least for {numbers.sequences} requests of {numbers.context:,} tokens is "
        f"{solved:.3f}, and {advice()['share-margin'].why}",
    )
    _, sized = build(Sized(final))
    return _checked(final, fit(_request(sized, version, numbers, weights_gib)))


def _checked(numbers: Numbers, report: Report[FitResult]) -> Sized:
    errors = [item.message for item in report.findings if item.severity is Severity.ERROR]
    plan = report.result.plan if report.result is not None else None
    return Sized(numbers, plan, trouble=errors[0] if errors else "")


def _by_pool(build: Build, request: FitRequest, numbers: Numbers, why: str) -> Sized:
    """Without weights: the least pool, from the layers alone, and what that very pool holds."""
    try:
        trial = fit(msgspec.structs.replace(request, kv_gib=_TRIAL_GIB))
        final = msgspec.structs.replace(numbers, pool_bytes=int(_solved(trial, _POOL)))
        _, sized = build(Sized(final))
        report = fit(msgspec.structs.replace(request, argv=sized.args))
    except (UsageError, UnreachableError, FormatError) as error:
        return Sized(numbers, unsized=error.message)
    plan = report.result.plan if report.result is not None else None
    return Sized(final, plan, unsized=why)


def _request(
    deployment: Deployment, version: str, numbers: Numbers, weights_gib: float | None
) -> FitRequest:
    box = deployment.box
    return FitRequest(
        checkpoint=deployment.checkpoint,
        version=version,
        argv=deployment.args,
        device=deployment.device,
        weights_gib=weights_gib,
        total_gib=box.total_memory_gib,
        reserve_gib=box.reserve_gib,
        tenants=box.co_tenants,
        sequences=numbers.sequences,
        length=numbers.context,
    )


def _solved(report: Report[FitResult], knob: str) -> float:
    solved = report.result.solved if report.result is not None else ()
    return next((item.number for item in solved if item.knob == knob), 0.0)


def tenants_of(beside: Sequence[Deployment], device: str) -> dict[str, float]:
    """What the neighbours take, GiB, by name: as they would be planned.

    Raises:
        UsageError: the size of one can't be told.
    """
    found: dict[str, float] = {}
    for item in beside:
        name = item.name or item.checkpoint
        request = FitRequest(
            checkpoint=item.checkpoint,
            artifact=item.artifact,
            argv=item.args,
            device=device,
            total_gib=item.box.total_memory_gib,
        )
        try:
            report = fit(request)
        except (UsageError, UnreachableError, FormatError) as error:
            found[name] = _by_share(item, device, name, error.message)
            continue
        memory = report.result.memory if report.result is not None else None
        if memory is not None:
            found[name] = memory.requested_bytes / _GIB
    return found


def _by_share(item: Deployment, device: str, name: str, why: str) -> float:
    """GiB that a neighbour may take by its own flag, where it can't be planned."""
    try:
        share = arguments_of(item.args, item.artifact).args.utilization
    except (UnreachableError, FormatError):
        share = None
    known = device_memory(find_device(device).id)
    total = item.box.total_memory_gib or (known.total_gib if known else 0.0)
    if share is None or not total:
        raise UsageError(
            f"the size of the neighbour {name} can't be told: {why}",
            hint="give it a --gpu-memory-utilization, or name its folder with the shards",
        )
    return share * total
