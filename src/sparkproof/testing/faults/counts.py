"""Faults of the counts: what a server says of itself is not so."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

import msgspec

from sparkproof.testing.faults.fault import Events, Exchange, Fault

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*(?:\{[^\n]*\})?) ([-+\w.]+)$", re.MULTILINE)
_COUNTS = ("_total", "_sum", "_count", "_bucket")
_START = "process_start_time_seconds"


class Usage(Fault, frozen=True, kw_only=True):
    """``completion_tokens`` are not what was sent."""

    name: ClassVar[str] = "usage"
    about: ClassVar[str] = "multiplies `completion_tokens` in every usage"
    main: ClassVar[str] = "factor"
    factor: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 1.25

    async def act(self, exchange: Exchange, events: Events) -> Events:
        """As `Fault.act`."""
        async for event in events:
            usage = (event.body or {}).get("usage")
            if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
                told = round(usage["completion_tokens"] * self.factor)
                if isinstance(usage.get("total_tokens"), int):
                    usage["total_tokens"] += told - usage["completion_tokens"]
                usage["completion_tokens"] = told
                event.changed = True
                exchange.acted.add(self.name)
            yield event


class HidePreemptions(Fault, frozen=True, kw_only=True):
    """The pool overflows, and nobody can see it."""

    name: ClassVar[str] = "hide-preemptions"
    about: ClassVar[str] = "shows no preemptions in `/metrics`"

    def scrape(self, text: str) -> str:
        """As `Fault.scrape`."""
        return _SAMPLE.sub(
            lambda m: f"{m[1]} 0.0" if m[1].startswith("vllm:num_preemptions_total") else m[0], text
        )


def counts_of(text: str) -> dict[str, float]:
    """Counters and histograms of a scrape, by name and labels."""
    return {m[1]: float(m[2]) for m in _SAMPLE.finditer(text) if _is_count(m[1])}


def since_restart(text: str, before: dict[str, float], started_s: float) -> str:
    """A scrape as of a server that began at `started_s`, when `before` was counted."""

    def told(m: re.Match[str]) -> str:
        if m[1] == _START:
            return f"{m[1]} {started_s!r}"
        return f"{m[1]} {float(m[2]) - before.get(m[1], 0.0)!r}" if _is_count(m[1]) else m[0]

    return _SAMPLE.sub(told, text)


def _is_count(name: str) -> bool:
    return name.partition("{")[0].endswith(_COUNTS)
