"""Does reality match the proof: what was predicted beside what the running server shows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sparkproof.bootlog.compare import backend_name, plain_value, same_version
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import SparkproofError
from sparkproof.core.finding import Finding
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.observations.server_snapshot import Served, ServerSnapshot
from sparkproof.core.results.fit import FitResult
from sparkproof.core.results.live_proof import Match, Topic
from sparkproof.core.results.proof import Agreement, ProofResult
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.pages import make_finding
from sparkproof.memory.kv_plan import plan_kv
from sparkproof.usecases.expectations import expected_of
from sparkproof.usecases.fit.case import FitCase, FitRequest, read_case
from sparkproof.usecases.fit.command import fit
from sparkproof.usecases.prove.log import expected_backends, flags_with_values

_CACHE_INFO = "vllm:cache_config_info"
_PRINTED = 0.0051
_TOLD_OTHERWISE = frozenset({"block_size", "enable_prefix_caching"})
_ON = {True: "on", False: "off"}
_ON_LABEL = {"True": "on", "False": "off"}
_DTYPE, _BLOCK_SIZE, _LENGTH, _TIMES = (
    "KV cache dtype",
    "block size",
    "max_model_len",
    "maximum concurrency",
)
_CAUSES = (_DTYPE, _BLOCK_SIZE)
"""What every number of the pool hangs on, first causes first."""
_OTHER_FLAGS = "other arguments or another checkpoint than was proven"


class Plans(msgspec.Struct, frozen=True):
    """What memory arithmetic predicts.

    Attributes:
        cut: the pool of as many blocks as the server has; None where the layout is not known.
        of_bytes: blocks of as many bytes as the server says; None where it does not.
        fit: the pool from the flags; None where it can't be planned.
        exact: the release's own arithmetic, not a neighbour's.
        auto_length: the context length was left to the release.
    """

    cut: KvPlan | None = None
    of_bytes: int | None = None
    fit: FitResult | None = None
    exact: bool = True
    auto_length: bool = False
    cache_dtype: str = ""


def read_plans(
    deployment: Deployment, release: str, snapshot: ServerSnapshot
) -> tuple[Plans, tuple[Unknown, ...]]:
    """Plan the pool of a deployment; what can't be planned is an unknown, never an error.

    Args:
        release: vLLM version that the artifact itself tells.
        snapshot: of the running server, for the size of its pool.
    """
    request = FitRequest(
        checkpoint=deployment.checkpoint,
        version=release,
        argv=deployment.args,
        device=deployment.device,
        total_gib=deployment.box.total_memory_gib,
        reserve_gib=deployment.box.reserve_gib,
        tenants=deployment.box.co_tenants,
    )
    try:
        plans = _cut(read_case(request), snapshot)
    except SparkproofError as error:
        return Plans(), (_unplanned(deployment, error),)
    try:
        return msgspec.structs.replace(plans, fit=fit(request).result), ()
    except SparkproofError as error:
        return plans, (_unplanned(deployment, error),)


def _cut(case: FitCase, snapshot: ServerSnapshot) -> Plans:
    """The release's own arithmetic, for the pool that the server has."""
    cache = _cache(snapshot)
    blocks, pool = (_whole(cache.get(n, "")) for n in ("num_gpu_blocks", "kv_cache_memory_bytes"))
    shape, dtype = case.shape(), case.args.kv_dtype
    return Plans(
        cut=plan_kv(shape, 0, blocks=blocks) if blocks else None,
        of_bytes=shape.blocks(pool) if pool and not case.args.blocks_override else None,
        exact=case.choice.exact,
        auto_length=case.args.max_model_len == -1,
        cache_dtype="" if dtype == "auto" else dtype,
    )


def _unplanned(deployment: Deployment, error: SparkproofError) -> Unknown:
    why = f"the pool is not predicted: {error.message}"
    return Unknown(Path(deployment.checkpoint).name, why, topic="fit/kv", hint=error.hint)


def match_server(
    proof: ProofResult, deployment: Deployment, snapshot: ServerSnapshot, model: str, plans: Plans
) -> tuple[Match, ...]:
    """Every predicted fact that a running server can show by itself. Pure."""
    served = next((m for m in snapshot.models if m.name == model), Served(""))
    rows = (
        *_identity(proof, deployment, snapshot, served),
        *_settings(snapshot, served, plans),
        *_flags(deployment, snapshot),
        *_memory(snapshot, plans),
    )
    return tuple(_under_its_cause(row, rows) for row in rows)


def _under_its_cause(row: Match, rows: tuple[Match, ...]) -> Match:
    """A difference of the pool's numbers as what it is, where another one explains it."""
    differing = [item.name for item in rows if item.agrees is False]
    if row.agrees is not False or row.topic is not Topic.MEMORY:
        return row
    earlier = (name for name in _CAUSES if name in differing)
    cause = next((name for name in earlier if name != row.name), "")
    length = _LENGTH if _LENGTH in differing and row.name == _TIMES else ""
    if row.name in _CAUSES and cause and _CAUSES.index(cause) > _CAUSES.index(row.name):
        return row
    follows = cause or length
    if not follows:
        return row
    return msgspec.structs.replace(row, follows=follows, likely=f"follows from the {follows}")


def match_log(proof: ProofResult) -> tuple[Match, ...]:
    """What the boot log shows, or what only one would show. Pure."""
    backends = [item for branch in proof.branches[:1] for item in expected_backends(branch.layers)]
    if proof.boot_log is None:
        return tuple(
            Match(
                topic=Topic.BACKEND,
                name=backend_name(item),
                predicted=item.backend,
                likely="only a boot log shows it: --log FILE",
            )
            for item in backends
        )
    every = {b.backend for branch in proof.branches for b in expected_backends(branch.layers)}
    log = proof.boot_log.log
    return tuple(
        Match(
            topic=_topic(row, every),
            name=row.name,
            predicted=row.predicted,
            seen=row.observed,
            seen_in=f"{log}:{row.line}" if row.line else log,
            agrees=row.agrees,
            likely=row.likely,
        )
        for row in proof.boot_log.rows
        if row.predicted
    )


def judge_match(rows: tuple[Match, ...]) -> tuple[Criterion, tuple[Finding, ...]]:
    """One criterion for the server's own rows, a finding for each difference. Pure."""
    different = [row for row in rows if row.agrees is False]
    findings = tuple(_finding(row, rows) for row in different if not row.follows)
    wrong = [row.name for row in different if row.exact and not row.follows]
    agreeing = sum(row.agrees is True for row in rows)
    if wrong:
        reason = f"the server differs from what was proven in {', '.join(wrong)}"
        return Criterion("match", Verdict.FAIL, reason), findings
    if not agreeing:
        reason = "the server shows nothing that was predicted"
        return Criterion("match", Verdict.INCONCLUSIVE, reason), findings
    silent = sum(row.agrees is None for row in rows)
    reason = f"{agreeing} predicted facts are what the server shows, {silent} it does not show"
    return Criterion("match", Verdict.PASS, reason, warning=bool(findings)), findings


def _finding(row: Match, rows: tuple[Match, ...]) -> Finding:
    rule = "proof/server-differs" if row.exact else "proof/pool-outside-estimate"
    message = f"predicted {row.predicted}, the server shows {row.seen}: {row.likely}"
    following = ", ".join(item.name for item in rows if item.follows == row.name)
    message += f"; with it differ {following}" if following else ""
    return make_finding(rule, message, where=row.seen_in, what=row.seen, subject=row.name)


def _identity(
    proof: ProofResult, deployment: Deployment, snapshot: ServerSnapshot, served: Served
) -> Iterator[Match]:
    seen = snapshot.version
    same = same_version(proof.release, seen) if seen else None
    other = "another release or image than the one that was proven"
    yield _match("version", proof.release, seen, "/version", same, other)
    names = expected_of(deployment).names
    listed = [m.name for m in snapshot.models]
    if names:
        there = set(names) <= set(listed)
        told = ", ".join(listed)
        yield _match("served names", ", ".join(names), told, "/v1/models", there, _OTHER_FLAGS)
    folder = Path(deployment.checkpoint).name.partition("@")[0]
    if served.root:
        alike = True if folder == served.root else None
        yield _match("checkpoint's folder", folder, served.root, "/v1/models", alike, "")


def _settings(snapshot: ServerSnapshot, served: Served, plans: Plans) -> Iterator[Match]:
    cache = _cache(snapshot)
    plan = plans.fit.plan if plans.fit else plans.cut
    if plans.cache_dtype:
        yield _text(_DTYPE, plans.cache_dtype, cache.get("cache_dtype", ""))
    if plan is None:
        return
    if not plans.auto_length:
        yield _number(_LENGTH, plan.max_model_len, served.max_model_len, "/v1/models")
    told = _ON_LABEL.get(cache.get("enable_prefix_caching", ""), "")
    yield _text("prefix caching", _ON[plan.prefix_caching], told)
    if snapshot.counts:
        wanted = plan.speculative_tokens > 0
        counted = snapshot.counts.drafts is not None
        # Silence is "off" only where nothing was promised: `smoke` makes a drafter draft.
        told = "on" if counted else "" if wanted else "off"
        yield _text("speculation", _ON[wanted], told, "/metrics")


def _flags(deployment: Deployment, snapshot: ServerSnapshot) -> Iterator[Match]:
    """Flags whose value the server's cache configuration repeats under their own name."""
    cache = _cache(snapshot)
    for flag, value in flags_with_values(deployment.args).items():
        label = flag.removeprefix("--").replace("-", "_")
        if label in cache and label not in _TOLD_OTHERWISE:
            same = plain_value(value) == plain_value(cache[label])
            yield _match(flag, value, cache[label], _CACHE_INFO, same, _OTHER_FLAGS)


def _memory(snapshot: ServerSnapshot, plans: Plans) -> Iterator[Match]:
    cache, cut, exact, memory = _cache(snapshot), plans.cut, plans.exact, Topic.MEMORY
    blocks = _whole(cache.get("num_gpu_blocks", ""))
    if plans.fit is not None:
        yield _pool(plans.fit, blocks, exact)
    if plans.of_bytes is not None:
        name = f"KV blocks of {cache['kv_cache_memory_bytes']} bytes"
        yield _number(name, plans.of_bytes, blocks, _CACHE_INFO, memory, exact)
    if cut is None:
        return
    size = _whole(cache.get("block_size", ""))
    yield _number(_BLOCK_SIZE, cut.block_size, size, _CACHE_INFO, memory, exact)
    tokens = _whole(cache.get("kv_cache_size_tokens", ""))
    name = f"KV tokens of {cut.blocks:,} blocks"
    yield _number(name, cut.tokens, tokens, _CACHE_INFO, memory, exact)
    times = _decimal(cache.get("kv_cache_max_concurrency", ""))
    close = None if times is None else abs(times - cut.concurrency) <= _PRINTED
    predicted = f"{cut.concurrency:.2f}x at {cut.max_model_len:,}"
    seen = "" if times is None else f"{times:.2f}x"
    why = "another context length, or another cut of the pool"
    yield _match(_TIMES, predicted, seen, _CACHE_INFO, close, why, memory, exact)


def _pool(planned: FitResult, seen: int, exact: bool) -> Match:
    """Blocks of the pool: an estimate has an interval, a flag that names the bytes has none."""
    plan, low, high = planned.plan, planned.low, planned.high
    predicted = f"{plan.blocks:,}"
    least, most = plan.blocks_if_less, plan.blocks_if_more
    if low and high:
        least, most, exact = low.blocks, high.blocks, False
        predicted += f" ({least:,} to {most:,}), estimated"
    inside = least <= seen <= most if seen else None
    told = f"{seen:,}" if seen else ""
    why = "more or less memory was free than planned, or other flags"
    return _match("KV blocks", predicted, told, _CACHE_INFO, inside, why, Topic.MEMORY, exact)


def _number(
    name: str,
    predicted: int,
    seen: int,
    where: str,
    topic: Topic = Topic.SERVER,
    exact: bool = True,
) -> Match:
    same, told = (predicted == seen, f"{seen:,}") if seen else (None, "")
    return _match(name, f"{predicted:,}", told, where, same, _OTHER_FLAGS, topic, exact)


def _text(name: str, predicted: str, seen: str, where: str = _CACHE_INFO) -> Match:
    same = predicted == seen if seen else None
    return _match(name, predicted, seen, where, same, _OTHER_FLAGS)


def _match(
    name: str,
    predicted: str,
    seen: str,
    where: str,
    agrees: bool | None,
    likely: str,
    topic: Topic = Topic.SERVER,
    exact: bool = True,
) -> Match:
    return Match(
        topic=topic,
        name=name,
        predicted=predicted,
        seen=seen,
        seen_in=where if seen else "",
        agrees=agrees,
        exact=exact,
        likely=likely if agrees is False else "",
    )


def _topic(row: Agreement, backends: set[str]) -> Topic:
    if row.predicted in backends:
        return Topic.BACKEND
    figure = row.predicted.replace(",", "").replace(".", "")
    return (
        Topic.MEMORY
        if figure.isdecimal() and row.name != "version" and not row.name.startswith("--")
        else Topic.SERVER
    )


def _cache(snapshot: ServerSnapshot) -> dict[str, str]:
    return snapshot.counts.cache if snapshot.counts else {}


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def _decimal(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
