"""What a plan means: rules ``memory/…``."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sparkproof.core.finding import Confidence, Evidence, Finding, Severity, worst_first
from sparkproof.core.memory_plan import KvPlan, MemoryPlan
from sparkproof.core.serve_args import ServeArgs
from sparkproof.facts.draft_methods import DraftWeights, find_draft_method
from sparkproof.facts.memory_book import estimates
from sparkproof.memory.budget import GIB, gib
from sparkproof.memory.coresidence import Residence
from sparkproof.memory.no_room import find_no_room

_DISCRETE_SHARE = 0.8
_MANY_BATCHED_TOKENS = 16384
_MANY_TIMES = 4


class Situation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the rules look at.

    Attributes:
        unified: the device shares its memory with the system.
        sized_by_share: the utilization decides about the pool.
        typical_length: tokens that traffic uses, 0 where not told.
        draft_head: the checkpoint brings the MTP head that the flags ask for, or none is asked.
        override_admitted: the engine's own check looks at the blocks that a flag states.
    """

    args: ServeArgs
    utilization: float
    plan: KvPlan
    longest: int
    sized_by_share: bool
    unified: bool
    reserve_bytes: int
    memory: MemoryPlan | None = None
    residence: Residence | None = None
    typical_length: int = 0
    draft_head: bool = True
    override_admitted: bool = True


def judge_memory(case: Situation) -> tuple[Finding, ...]:
    """Every rule that fires, worst first."""
    found = [
        *find_no_room(case.memory, case.plan),
        *_below_one_request(case),
        *_draft_head(case),
        *_start_check(case),
        *_phases(case),
        *_over_reservation(case),
        *_co_residence(case),
        *_discrete_utilization(case),
        *_pinned(case.args),
        *_batch_tokens(case),
        *_context(case),
    ]
    return worst_first(found)


def _below_one_request(case: Situation) -> Iterator[Finding]:
    plan = case.plan
    if plan.pool_bytes >= plan.request_bytes or plan.pool_bytes == 0:
        return
    if case.args.max_model_len == -1 and case.longest:
        return
    if case.args.blocks_override:
        yield _too_few_blocks(case)
        return
    yield Finding(
        rule="memory/below-one-request",
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=(
            f"one request of {plan.max_model_len:,} tokens needs {gib(plan.request_bytes)}"
            f" of KV cache, {gib(plan.pool_bytes)} are there: the engine will not start"
        ),
        remedy=(
            f"--max-model-len {case.longest} fits, or give"
            f" --kv-cache-memory-bytes {plan.request_bytes}"
            if case.longest
            else f"give --kv-cache-memory-bytes {plan.request_bytes} or more"
        ),
        evidence=(Evidence("v1/core/kv_cache_utils.py", "_check_enough_kv_cache_memory"),),
    )


def _too_few_blocks(case: Situation) -> Finding:
    plan, admitted = case.plan, case.override_admitted
    needed = -(-plan.request_bytes // plan.block_bytes)
    then = (
        "the engine will not start"
        if admitted
        else f"vLLM {plan.version} starts all the same, and such a request never gets its blocks"
    )
    fits = f"--max-model-len {case.longest} fits, or " if case.longest else ""
    return Finding(
        rule="memory/below-one-request",
        severity=Severity.ERROR if admitted else Severity.WARNING,
        confidence=Confidence.SHOWN if admitted else Confidence.INFERRED,
        message=(
            f"one request of {plan.max_model_len:,} tokens needs {needed:,} blocks,"
            f" --num-gpu-blocks-override gives {plan.blocks:,}: {then}"
        ),
        remedy=f"{fits}leave --num-gpu-blocks-override out, or give {needed} or more",
        evidence=(Evidence("v1/core", "get_kv_cache_configs"),),
    )


def _draft_head(case: Situation) -> Iterator[Finding]:
    if case.draft_head:
        return
    method = case.args.speculation.method if case.args.speculation else ""
    known = find_draft_method(method) if method else None
    message = "the flags ask for multi-token prediction, the config declares no layer for it"
    remedy = "leave --speculative-config out, or name a checkpoint that brings the head"
    if known is not None and known.weights is DraftWeights.MODEL:
        message = f"the method {method} drafts with a model of its own, the flags name none"
        remedy = 'give "model" in --speculative-config, or leave that out'
    yield Finding(
        rule="memory/no-draft-head",
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=message,
        remedy=remedy,
    )


def _start_check(case: Situation) -> Iterator[Finding]:
    memory = case.memory
    if memory is None or memory.requested_bytes <= memory.available_bytes:
        return
    share = memory.available_bytes / memory.total_bytes
    yield Finding(
        rule="memory/start-check",
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=(
            f"start-up asks for {gib(memory.requested_bytes)} to be free,"
            f" {gib(memory.available_bytes)} are"
        ),
        remedy=f"--gpu-memory-utilization {int(share * 1000) / 1000} or less, or free memory first",
        evidence=(Evidence("v1/worker/utils.py", "request_memory"),),
    )


def _phases(case: Situation) -> Iterator[Finding]:
    if case.memory is None:
        return
    tightest = case.memory.tightest
    surest = min(case.memory.phases, key=lambda phase: phase.high_free_bytes)
    if surest.high_free_bytes < 0:
        yield Finding(
            rule="memory/phase-starves-host",
            severity=Severity.ERROR if case.unified else Severity.WARNING,
            confidence=Confidence.INFERRED,
            subject=surest.title,
            message=(
                f"{gib(-surest.free_bytes)} more than the box has,"
                f" {gib(-surest.high_free_bytes)} at the low end of the estimates"
            ),
            remedy=surest.turn_down,
        )
    elif tightest.free_bytes < 0:
        yield Finding(
            rule="memory/phase-starves-host",
            severity=Severity.WARNING,
            confidence=Confidence.INFERRED,
            subject=tightest.title,
            message=(
                f"{gib(-tightest.free_bytes)} more than the box has by the middle of the estimates,"
                f" {gib(tightest.high_free_bytes)} stay free at their low end"
            ),
            remedy=tightest.turn_down,
        )
    elif tightest.low_free_bytes < 0 and case.unified:
        yield Finding(
            rule="memory/phase-starves-host",
            severity=Severity.WARNING,
            confidence=Confidence.INFERRED,
            subject=tightest.title,
            message=(
                f"{gib(tightest.free_bytes)} stay free by the middle of the estimates,"
                f" {gib(-tightest.low_free_bytes)} are missing at their end"
            ),
            remedy=tightest.turn_down,
        )


def _over_reservation(case: Situation) -> Iterator[Finding]:
    if case.memory is None or not case.unified:
        return
    steady = next(phase for phase in case.memory.phases if phase.name == "steady")
    if not 0 <= steady.free_bytes < case.reserve_bytes:
        return
    over = case.reserve_bytes - steady.free_bytes
    share = max(case.utilization - over / case.memory.total_bytes, 0.0)
    yield Finding(
        rule="memory/over-reservation",
        severity=Severity.WARNING,
        confidence=Confidence.REPORTED,
        message=(
            f"{gib(steady.free_bytes)} stay free on unified memory,"
            f" less than the {gib(case.reserve_bytes)} kept for the system"
        ),
        remedy=(
            f"--gpu-memory-utilization {int(share * 1000) / 1000}"
            if not case.args.kv_bytes
            else f"--kv-cache-memory-bytes {max(case.args.kv_bytes - over, 0)}"
        ),
    )


def _co_residence(case: Situation) -> Iterator[Finding]:
    if case.residence is None or case.residence.fits:
        return
    blocked = [start for start in case.residence.starts if not start.passes]
    what = (
        f"{blocked[0].name} will ask for {gib(blocked[0].requested_bytes)} to be free and"
        f" see {gib(blocked[0].free_bytes)}"
        if blocked
        else f"{gib(case.residence.headroom_bytes)} stay free once all are ready"
    )
    yield Finding(
        rule="memory/servers-clash",
        severity=Severity.ERROR if blocked else Severity.WARNING,
        confidence=Confidence.INFERRED,
        message=what,
        remedy="start one after the other in the order shown, with smaller shares",
    )


def _discrete_utilization(case: Situation) -> Iterator[Finding]:
    matters = case.sized_by_share or case.args.utilization is not None
    if not (case.unified and matters) or case.utilization < _DISCRETE_SHARE:
        return
    stated = "as given" if case.args.utilization is not None else "vLLM's default"
    yield Finding(
        rule="memory/discrete-utilization",
        severity=Severity.WARNING,
        confidence=Confidence.REPORTED,
        message=(
            f"a utilization of {case.utilization:g} ({stated}) is meant for a card with its own"
            " memory; here it is a share of what the system lives on"
        ),
        remedy="size it from the requests: `sparkproof fit` solves for the least that holds them",
    )


def _pinned(args: ServeArgs) -> Iterator[Finding]:
    """A stated pool beside another word for its size."""
    worker = Evidence("v1/worker/gpu_worker.py", "determine_available_memory")
    if args.blocks_override and args.kv_bytes:
        yield Finding(
            rule="memory/pins-clash",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message="--num-gpu-blocks-override decides how many blocks are allocated,"
            " --kv-cache-memory-bytes does not",
            remedy="give one of the two",
            evidence=(Evidence("v1/core", "may_override_num_blocks"), worker),
        )
    pin = "--num-gpu-blocks-override" if args.blocks_override else "--kv-cache-memory-bytes"
    if args.utilization is not None and (args.blocks_override or args.kv_bytes):
        yield Finding(
            rule="memory/share-beside-pin",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=f"{pin} sizes the pool; --gpu-memory-utilization {args.utilization:g} only says"
            " how much has to be free at start",
            remedy="keep it as small as what the server takes, or leave the pool to it",
            evidence=(worker, Evidence("v1/worker/utils.py", "request_memory")),
        )


def _batch_tokens(case: Situation) -> Iterator[Finding]:
    tokens = case.plan.batched_tokens
    if not case.unified or tokens < _MANY_BATCHED_TOKENS:
        return
    slope = estimates()["rest_per_1024_tokens"]
    saved = int(slope.value * (tokens - 8192) / 1024 * GIB)
    yield Finding(
        rule="memory/batched-tokens",
        severity=Severity.WARNING,
        confidence=Confidence.REPORTED,
        message=f"{tokens:,} batched tokens cost about {gib(saved)} more than 8,192 would",
        remedy="--max-num-batched-tokens 8192 unless prefill throughput is what you are after",
    )


def _context(case: Situation) -> Iterator[Finding]:
    used, length = case.typical_length, case.plan.max_model_len
    if not used or used * _MANY_TIMES > length:
        return
    yield Finding(
        rule="memory/context-unused",
        severity=Severity.INFO,
        confidence=Confidence.SHOWN,
        message=(
            f"{length:,} tokens of context are allowed, traffic uses {used:,}: every start"
            f" has to find {gib(case.plan.request_bytes)} for one such request"
        ),
        remedy=f"--max-model-len {used * 2}",
    )
