"""Is an arm dead, or only out of reach? What shows a death, in words; "" where nothing does.

A refusal by the machine itself, the engine's own words, and a ``/health`` of 503 without a word
(vLLM's) are proof. Silence, a name that does not resolve, and what a gateway says in the server's
place are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkproof.core.observations.ab_run import AbDeath, AbPlan
from sparkproof.core.server_port import NOTHING_LISTENS, Reply
from sparkproof.core.text import shorten
from sparkproof.formats.openai_answer import error_message

_ENGINE = re.compile(
    r"EngineCore encountered|EngineDeadError|illegal memory access|illegal address", re.IGNORECASE
)
_UNAVAILABLE = 503
_SHOWN = 160


def death_words(health: Reply, said: Iterable[str]) -> str:
    """What shows that a server is dead.

    Args:
        health: its answer to ``/health`` now.
        said: what came back in place of whole answers.
    """
    words = [*said, error_message(health.body) if health.status >= 400 else ""]
    engine = next((text for text in words if _ENGINE.search(text)), "")
    if engine:
        return f"it says: {shorten(engine.partition('. See ')[0], _SHOWN)}"
    if health.detail.startswith(NOTHING_LISTENS):
        return health.detail
    if health.status == _UNAVAILABLE and not health.body.strip():
        return f"/health answers {health.status}"
    return ""


def dies_words(death: AbDeath, plan: AbPlan) -> str:
    """``dies after 17 whole answers, at 8 at once, cold: /health answers 503, the control …``."""
    place = f", at {plan.cells[death.cell].name}" if death.cell >= 0 else ""
    control = f", while the control {death.control}" if death.control else ""
    said = f"; the log says: {death.said}" if death.said else ""
    return f"after {death.answered} whole answers{place}: {death.seen}{control}{said}"
