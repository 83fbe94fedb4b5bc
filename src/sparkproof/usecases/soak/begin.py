"""What comes before a soak: who else is there, what the server does alone, the plan."""

from __future__ import annotations

import asyncio

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.server_snapshot import EngineCounts, ServerSnapshot
from sparkproof.core.observations.soak_run import SoakPlan
from sparkproof.core.server_port import ServerPort
from sparkproof.gates.soak_plan import Wishes, draft_plan
from sparkproof.load.prompts import compose
from sparkproof.usecases.live import Session

_SAMPLE_WORDS = 400
_USUAL_WORDS_PER_TOKEN = 0.75
_AFRESH = "begin another soak, without --resume"


async def others_at(session: Session, idle_s: float) -> str:
    """What is seen of other traffic while we ask nothing; "" for none, or none to be seen."""
    first = await session.counts()
    await asyncio.sleep(idle_s)
    second = await session.counts()
    if first is None or second is None:
        return ""
    in_flight = max(_in_flight(first), _in_flight(second))
    if in_flight > 0:
        return f"{in_flight:.0f} requests are running or waiting"
    moved = (second.finished or 0.0) - (first.finished or 0.0)
    return f"{moved:.0f} requests finished while nothing was asked" if moved > 0 else ""


def refuse_others(others: str, plan: SoakPlan, *, yes: bool) -> None:
    """Driving a server to preemption hurts whoever uses it.

    Raises:
        UsageError: somebody does, and nobody said that it may.
    """
    if plan.preempt and others and not yes:
        raise UsageError(
            f"the server has other traffic: {others}; --preempt would take their place",
            hint="come back when it is idle, or pass --yes",
        )


def _in_flight(counts: EngineCounts) -> float:
    return (counts.running or 0.0) + (counts.waiting or 0.0)


async def begin_plan(
    port: ServerPort, snapshot: ServerSnapshot, model: str, wishes: Wishes, seed: str
) -> SoakPlan:
    """The plan, with lengths by the server's own count of our prose.

    Raises:
        UsageError: no lengths do what is wished, or a seed that no request can carry.
    """
    if not seed.isprintable():
        raise UsageError(
            "--seed holds characters that no request can carry", hint="letters and digits will do"
        )
    tokens = await Session(port).count_tokens(model, compose(_SAMPLE_WORDS, seed))
    rate = _SAMPLE_WORDS / tokens if tokens else _USUAL_WORDS_PER_TOKEN
    return draft_plan(wishes, snapshot, model, seed, rate)


def refuse_other_server(plan: SoakPlan, snapshot: ServerSnapshot) -> None:
    """A soak goes on only where its requests mean the same.

    Raises:
        UsageError: another model, or one that takes less.
    """
    served = {m.name: m.max_model_len for m in snapshot.models}
    if plan.model not in served:
        raise UsageError(
            f"the records are of `{plan.model}`; the server has {', '.join(served) or 'nothing'}",
            hint=_AFRESH,
        )
    limit = served[plan.model]
    if limit and limit < plan.longest:
        raise UsageError(
            f"the records hold requests of {plan.longest} tokens; the server takes {limit} now",
            hint=_AFRESH,
        )
