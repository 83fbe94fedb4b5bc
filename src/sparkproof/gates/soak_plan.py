"""From what a user wishes and what a server is to a plan."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.observations.soak_run import Kind, SoakPlan
from sparkproof.gates.coherence import QUESTIONS
from sparkproof.load.soak_sizes import (
    MAX_STREAMS,
    Sizes,
    mixed_sizes,
    overfilling_sizes,
    pool_of,
)

USUAL_REQUESTS = 400
MOST_REQUESTS = 10**9
_LONGEST_PREFIX = 2048


class Wishes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user asked for; zeros ask for the usual.

    Attributes:
        duration_s: in place of a number of requests.
        longest: tokens of the longest request.
        shared_prefix: share of requests, 0 to 1.
    """

    concurrency: int = 8
    requests: int = 0
    duration_s: float = 0.0
    longest: int = 0
    shared_prefix: float = 0.0
    tools: bool = False
    reasoning: bool = False
    preempt: bool = False
    timeout_s: float = 300.0


def check_wishes(wishes: Wishes) -> None:
    """Refuse what nobody can do.

    Raises:
        UsageError: figures that are none.
    """
    if not 1 <= wishes.concurrency <= MAX_STREAMS:
        raise UsageError(f"--concurrency is 1 to {MAX_STREAMS}", hint="leave it out for 8")
    if wishes.requests and wishes.duration_s:
        raise UsageError("a number of requests and a duration at once", hint="give one of them")
    if wishes.requests < 0 or wishes.longest < 0 or not 0 < wishes.timeout_s < math.inf:
        raise UsageError(
            "--requests, --longest and --timeout are above 0", hint="leave them out for defaults"
        )
    if wishes.requests > MOST_REQUESTS:
        raise UsageError(f"--requests is {MOST_REQUESTS} at most", hint="--duration ends by time")
    if not 0 <= wishes.shared_prefix <= 1:
        raise UsageError("--shared-prefix is a share of the requests", hint="give 0 to 1, e.g. 0.3")
    if wishes.preempt and (wishes.shared_prefix or wishes.longest):
        raise UsageError(
            "--preempt computes the lengths itself",
            hint="leave out --longest and --shared-prefix",
        )


def draft_plan(
    wishes: Wishes, snapshot: ServerSnapshot, model: str, seed: str, words_per_token: float
) -> SoakPlan:
    """The plan before anything was asked alone.

    Raises:
        UsageError: no lengths do what is wished.
    """
    limit = next((m.max_model_len for m in snapshot.models if m.name == model), 0)
    cache = snapshot.counts.cache if snapshot.counts else {}
    pool, block = pool_of(cache)
    sizes, prefix = _sizes(wishes, limit, pool, block)
    kinds = [Kind.RAW, Kind.ANSWER]
    kinds += [Kind.THINKING] * wishes.reasoning + [Kind.TOOLS] * wishes.tools
    lengths: dict[str, Any] = msgspec.structs.asdict(sizes)
    return SoakPlan(
        model=model,
        seed=seed,
        requests=wishes.requests or (0 if wishes.duration_s else USUAL_REQUESTS),
        duration_s=wishes.duration_s,
        kinds=tuple(kinds),
        timeout_s=wishes.timeout_s,
        words_per_token=round(words_per_token, 4),
        shared_prefix=wishes.shared_prefix,
        prefix_tokens=prefix,
        preempt=wishes.preempt,
        pool_tokens=pool,
        max_model_len=limit,
        alone=len(kinds) + len(QUESTIONS),
        **lengths,
    )


def _sizes(wishes: Wishes, limit: int, pool: int, block: int) -> tuple[Sizes, int]:
    if not wishes.preempt:
        prefix = 0
        if wishes.shared_prefix:
            whole = wishes.longest or limit or _LONGEST_PREFIX
            prefix = min(_LONGEST_PREFIX, max(3 * block, 64), whole // 2)
        return mixed_sizes(wishes.concurrency, limit, wishes.longest, prefix), prefix
    if not pool or not limit:
        raise UsageError(
            "the server does not tell the size of its KV pool or its model length",
            hint="/metrics has vllm:cache_config_info, /v1/models max_model_len; without them "
            "leave out --preempt",
        )
    return overfilling_sizes(wishes.concurrency, limit, pool, block), 0
