"""Faults of the whole server: it dies, is restarted, or refuses a share of its requests."""

from __future__ import annotations

from typing import ClassVar

from sparkproof.testing.faults.fault import Act, Count, Exchange, Fault, Seconds

ENGINE_DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."
_ILLEGAL_ACCESS = f"""\
(EngineCore pid=4711) ERROR 11-30 12:00:00 [core.py:998] EngineCore encountered a fatal error.
(EngineCore pid=4711) ERROR 11-30 12:00:00 [core.py:998] Traceback (most recent call last):
(EngineCore pid=4711) ERROR 11-30 12:00:00 [core.py:998] torch.AcceleratorError: CUDA error: \
an illegal memory access was encountered
(APIServer pid=4700) ERROR 11-30 12:00:00 [async_llm.py:704] vllm.v1.engine.exceptions.\
EngineDeadError: {ENGINE_DEAD}
"""


class Die(Fault, frozen=True, kw_only=True):
    """Load kills it: every connection is cut, and then nobody answers."""

    name: ClassVar[str] = "die"
    about: ClassVar[str] = (
        "dies when so many completions are on their way: all is cut, then refused"
    )
    main: ClassVar[str] = "streams"
    streams: Count = 8

    def arrives(self, exchange: Exchange) -> Act | None:
        """As `Fault.arrives`."""
        struck = exchange.number > self.after and exchange.in_flight >= self.streams
        return Act(dies=True) if struck else None


class IllegalAccess(Fault, frozen=True, kw_only=True):
    """The engine dies under a request, which is told so; then the process is gone."""

    name: ClassVar[str] = "illegal-access"
    about: ClassVar[str] = "answers the so-manyth completion with 500 EngineCore..., then is gone"
    main: ClassVar[str] = "number"
    number: Count = 20

    def arrives(self, exchange: Exchange) -> Act | None:
        """As `Fault.arrives`."""
        if exchange.number < self.number or exchange.in_flight < self.above:
            return None
        return Act(status=500, message=ENGINE_DEAD, dies=True, log=_ILLEGAL_ACCESS)


class Restart(Fault, frozen=True, kw_only=True):
    """Somebody, or a supervisor, restarts it: gone for a while, then back with counters at zero."""

    name: ClassVar[str] = "restart"
    about: ClassVar[str] = (
        "is gone for so many seconds at one completion, and comes back as another"
    )
    main: ClassVar[str] = "seconds"
    seconds: Seconds = 2.0
    number: Count = 20

    def arrives(self, exchange: Exchange) -> Act | None:
        """As `Fault.arrives`."""
        due = exchange.number == self.number
        return Act(dies=True, back_after_s=self.seconds) if due else None


class Error(Fault, frozen=True, kw_only=True):
    """A share of the requests fails."""

    name: ClassVar[str] = "error"
    about: ClassVar[str] = "answers a share of the completions with 500"

    def arrives(self, exchange: Exchange) -> Act | None:
        """As `Fault.arrives`."""
        struck = self.may_strike(exchange) and exchange.in_flight >= self.above
        return Act(status=500, message="Internal server error") if struck else None
