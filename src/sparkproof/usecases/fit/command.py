"""Does it fit, with the numbers that the boot log will print; and what to turn if it does not."""

from __future__ import annotations

from shlex import quote

import msgspec

from sparkproof.checkpoint.limits import read_limits
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.memory_plan import KvPlan, MemoryPlan
from sparkproof.core.redaction import redact_arguments
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult, StartStep
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.facts.memory_book import estimates
from sparkproof.facts.rest_model import calibration
from sparkproof.memory.budget import GIB, Budget, Known, Weights, plan_budget
from sparkproof.memory.coresidence import Residence, Server, order_of_start, plan_residence
from sparkproof.memory.findings import Situation, judge_memory
from sparkproof.memory.kv_plan import KvShape, plan_kv
from sparkproof.memory.no_room import NO_ROOM
from sparkproof.memory.phases import Host, host_lines, plan_phases
from sparkproof.recipe.overrides import OVERRIDES, changed_sizes
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.fit.answers import Pool, compare_flags, solve_knobs
from sparkproof.usecases.fit.case import (
    CPU,
    FitCase,
    FitRequest,
    fit_request,
    is_beyond,
    read_case,
)
from sparkproof.usecases.fit.encoder import fit_without_pool, is_without_pool
from sparkproof.usecases.fit.inputs import CheckpointFiles, weights_of
from sparkproof.usecases.fit.items import find_large_items
from sparkproof.usecases.fit.pool import PLANNED, find_pool, is_override_admitted, stated_pool

__all__ = ["FitRequest", "fit", "fit_request"]


def fit(request: FitRequest, files: CheckpointFiles | None = None) -> Report[FitResult]:
    """Plan the memory of one server.

    Args:
        files: of the checkpoint, where it has been read already.

    Raises:
        UsageError: flags that vLLM refuses, or a layout that is not known here.
        UnreachableError, FormatError: the checkpoint or the box can't be read.
    """
    case = read_case(request, files)
    if is_without_pool(case):
        return fit_without_pool(case)
    shape = case.shape()
    budget, memory = _memory(case, shape)
    pool, rounding, origin = find_pool(case, shape, budget)
    plan = plan_kv(shape, pool, rounding_bytes=rounding, blocks=case.args.blocks_override)
    plan = _auto_length(case, shape, plan)
    neighbour, unknowns = _ask_neighbour(case, plan, pool, rounding)
    overridden = _overridden(case)
    stated = bool(case.args.blocks_override)
    low, high = (None, None) if stated else _ends(shape, memory, origin)
    residence = _residence(case, memory)
    judged = judge_memory(_situation(case, shape, plan, memory, residence))
    large, untold = find_large_items(case, plan.batched_tokens)
    findings = (*case.refused, *large, *judged)
    result = FitResult(
        checkpoint=case.files.name,
        architecture=case.layout.architecture or case.layout.model_type,
        version=case.choice.version,
        device=request.device,
        device_memory_gib=case.total_bytes / GIB,
        pool_origin=origin,
        arguments=case.basis,
        plan=plan,
        neighbour=neighbour,
        low=low,
        high=high,
        memory=memory,
        solved=solve_knobs(
            shape,
            Pool(pool, case.total_bytes, budget),
            sequences=request.sequences,
            length=request.length,
        ),
        alternatives=compare_flags(case.shape, case.args, case.layout, pool, request.length),
        starts=_starts(residence),
        drafter=case.draft_files.name if case.draft_files else "",
    )
    return make_report(
        "fit",
        result,
        verdict=_verdict(
            findings, open_=bool(overridden) or neighbour is not None or is_beyond(case.choice)
        ),
        summary="; without it ".join((*_words(overridden), _summary(plan, origin, findings))),
        findings=findings,
        unknowns=(*overridden, *case.unknowns, *unknowns, *untold, *_unmeasured(case, origin)),
        next_steps=_next_steps(case, memory),
    )


def _host(case: FitCase, requested_bytes: int = 0) -> Host:
    """The box; a pool out of a log tells that `requested_bytes` were free when that boot began."""
    booted = case.request.kv_gib is not None and not case.request.trial
    reserve = case.request.reserve_gib
    reserve_gib = estimates()["reserve"].value if reserve is None else reserve
    used = None if case.available_bytes is None else case.total_bytes - case.available_bytes
    if used is None and not case.unified:
        used = 0
    return Host(
        total_bytes=case.total_bytes,
        reserve_bytes=int(reserve_gib * GIB),
        used_bytes=used,
        tenants={name: int(size * GIB) for name, size in case.request.tenants.items()},
        jobs=case.request.jobs,
        measured=_measured(case),
        proven_bytes=requested_bytes if booted and case.unified else 0,
    )


def _measured(case: FitCase) -> str:
    if case.available_bytes is None:
        return ""
    here = f", {', '.join(case.running)} among it" if case.running else ""
    return f"MemTotal less MemAvailable{here}"


def _memory(case: FitCase, shape: KvShape) -> tuple[Budget | None, MemoryPlan | None]:
    layers = case.layout.num_layers
    weights = weights_of(case.files, case.draft_files, layers, case.request.weights_gib)
    if weights is None:
        return None, None
    shared = _per_rank(weights, shape.settings.tensor_parallel * shape.settings.pipeline_parallel)
    rest = case.request.rest_gib
    stated, source = stated_pool(case, shape)
    known = Known(source, rest_bytes=None if rest is None else int(rest * GIB))
    args = msgspec.structs.replace(case.args, kv_bytes=stated)
    kind = case.device.capability
    budget = plan_budget(shape, args, shared, case.total_bytes, known, capability=kind)
    host = _host(case, budget.requested_bytes)
    around = host_lines(host)
    before = sum(line.bytes for line in around if line.name not in ("server", "pinned"))
    pool = budget.line("kv")
    return budget, MemoryPlan(
        total_bytes=case.total_bytes,
        available_bytes=case.total_bytes - before,
        requested_bytes=budget.requested_bytes,
        kv_bytes=pool.bytes,
        kv_low_bytes=pool.low_bytes,
        kv_high_bytes=pool.high_bytes,
        lines=budget.lines,
        host=around,
        phases=plan_phases(budget, host, weights.layers),
    )


def _per_rank(weights: Weights, ranks: int) -> Weights:
    if ranks == 1 or weights.loaded:
        return weights
    return msgspec.structs.replace(
        weights,
        target_bytes=weights.target_bytes // ranks,
        drafter_bytes=weights.drafter_bytes // ranks,
    )


def _auto_length(case: FitCase, shape: KvShape, plan: KvPlan) -> KvPlan:
    """``--max-model-len -1``: the longest request that the pool holds."""
    if case.args.max_model_len != -1:
        return plan
    longest = shape.longest(plan.pool_bytes, plan.max_model_len)
    if not longest:
        return plan
    args = msgspec.structs.replace(case.args, max_model_len=longest)
    return plan_kv(case.shape(args), plan.pool_bytes, blocks=case.args.blocks_override)


def _ask_neighbour(
    case: FitCase, plan: KvPlan, pool: int, rounding: int
) -> tuple[KvPlan | None, list[Unknown]]:
    if len(case.choice.rules) == 1:
        return None, []
    other = plan_kv(
        case.shape(newer=True), pool, rounding_bytes=rounding, blocks=case.args.blocks_override
    )
    if (other.tokens, other.blocks, other.block_size) == (
        plan.tokens,
        plan.blocks,
        plan.block_size,
    ):
        return None, []
    older, newer = (rules.version for rules in case.choice.rules)
    why = f"{older} prints {plan.tokens:,} tokens for this pool, {newer} {other.tokens:,}"
    return other, [Unknown(f"vllm {case.choice.version}", why, topic="fit/kv")]


def _ends(
    shape: KvShape, memory: MemoryPlan | None, origin: str
) -> tuple[KvPlan | None, KvPlan | None]:
    if memory is None or origin != PLANNED:
        return None, None
    return plan_kv(shape, memory.kv_low_bytes), plan_kv(shape, memory.kv_high_bytes)


def _unmeasured(case: FitCase, origin: str) -> list[Unknown]:
    """A pool that is estimated for a kind of device on which no boot was measured."""
    own = case.request.rest_gib is not None
    if own or origin != PLANNED or calibration().covers(case.device.capability):
        return []
    why = (
        "what servers spend beside weights and pool was measured on GB10 alone: its middle stands"
        " in, within the interval of other devices, which holds less often"
    )
    hint = "give --rest-gib from a boot log of this setup"
    return [Unknown(case.request.device, why, topic="fit/interval", hint=hint)]


def _situation(
    case: FitCase,
    shape: KvShape,
    plan: KvPlan,
    memory: MemoryPlan | None,
    residence: Residence | None,
) -> Situation:
    return Situation(
        args=case.args,
        utilization=shape.settings.utilization,
        sized_by_share=(case.request.kv_gib is None or case.request.trial)
        and not case.args.kv_bytes,
        plan=plan,
        longest=shape.longest(plan.pool_bytes, _allowed(case, plan.max_model_len)),
        unified=case.unified and case.device.capability != CPU,
        reserve_bytes=_host(case).reserve_bytes,
        memory=memory,
        residence=residence,
        typical_length=case.request.typical_length,
        draft_head=not shape.settings.drafts
        or bool(case.layout.drafts)
        or case.drafter is not None,
        override_admitted=is_override_admitted(case),
    )


def _allowed(case: FitCase, length: int) -> int:
    """A length, or what the model's config allows where that is less."""
    longest = read_limits(case.files.config).longest
    return min(length, longest) if longest else length


def _servers(case: FitCase, memory: MemoryPlan) -> tuple[Server, ...]:
    resident = sum(line.bytes for line in memory.lines if line.name != "slack")
    own = Server(case.files.name, memory.requested_bytes, resident)
    others = (
        Server(name, int(size * GIB), int(size * GIB))
        for name, size in sorted(case.request.tenants.items())
    )
    return order_of_start((own, *others))


def _residence(case: FitCase, memory: MemoryPlan | None) -> Residence | None:
    if memory is None or not case.request.tenants:
        return None
    tenants = sum(int(size * GIB) for size in case.request.tenants.values())
    host = _host(case)
    return plan_residence(
        _servers(case, memory), memory.available_bytes + tenants, host.reserve_bytes
    )


def _starts(residence: Residence | None) -> tuple[StartStep, ...]:
    if residence is None:
        return ()
    held = [start.free_bytes for start in residence.starts] + [residence.headroom_bytes]
    return tuple(
        StartStep(
            start.name,
            start.requested_bytes,
            held[i] - held[i + 1],
            start.free_bytes,
            start.passes,
        )
        for i, start in enumerate(residence.starts)
    )


def _overridden(case: FitCase) -> tuple[Unknown, ...]:
    """That flags change the config which the layers were read from."""
    keys = changed_sizes(case.request.argv)
    why = f"not followed here, and changes {', '.join(keys[:4])}"
    hint = "put them into a copy of the checkpoint's config.json, and name that"
    return (Unknown(OVERRIDES, why, topic="fit/overrides", hint=hint),) if keys else ()


def _words(overridden: tuple[Unknown, ...]) -> tuple[str, ...]:
    return tuple(f"{item.where} is {item.why}" for item in overridden)


def _verdict(findings: tuple[Finding, ...], *, open_: bool) -> Verdict:
    """`open_`: releases disagree, none bounds the one that was asked, or the config is another."""
    failed = any(finding.severity is Severity.ERROR for finding in findings)
    return fold(
        (
            Verdict.FAIL if failed else Verdict.PASS,
            Verdict.INCONCLUSIVE if open_ else Verdict.PASS,
        )
    )


def _summary(plan: KvPlan, origin: str, findings: tuple[Finding, ...]) -> str:
    lacking = [item.message for item in findings if item.rule == NO_ROOM]
    if lacking:
        return lacking[0]
    blocks = _either(f"{plan.blocks_if_less:,}", f"{plan.blocks_if_more:,}")
    tokens = _either(f"{plan.tokens_if_less:,}", f"{plan.tokens_if_more:,}")
    times = _either(f"{plan.concurrency_if_less:.2f}x", f"{plan.concurrency_if_more:.2f}x")
    return (
        f"{plan.pool_bytes / GIB:.2f} GiB of KV cache ({origin}): {blocks} blocks of"
        f" {plan.block_size:,} tokens, {tokens} tokens, {times} at {plan.max_model_len:,}"
    )


def _either(less: str, more: str) -> str:
    """Two decimals of GiB may leave one block of play: both are said."""
    return less if less == more else f"{less} or {more}"


def _next_steps(case: FitCase, memory: MemoryPlan | None) -> tuple[str, ...]:
    if case.refused:
        return ()
    if memory is None:
        return (f"{_again(case, '--weights-gib GIB')}  # adds the budget and its phases",)
    if case.available_bytes is None and case.unified:
        told = "takes the box as it is, not the usual one"
        return (f"{_again(case, '--meminfo FILE')}  # {told}",)
    return ()


def _again(case: FitCase, option: str) -> str:
    """What was asked, once more with an option in front of the flags."""
    asked = case.request
    words = ["sparkproof fit", quote(asked.reference or asked.checkpoint), option]
    for name, value in (
        ("--vllm", asked.version),
        ("--kv-gib", asked.kv_gib),
        ("--weights-gib", asked.weights_gib),
    ):
        words += [name, quote(str(value))] if value else []
    own = () if asked.reference else redact_arguments(asked.argv)
    return " ".join((*words, *(("--", *map(quote, own)) if own else ())))
