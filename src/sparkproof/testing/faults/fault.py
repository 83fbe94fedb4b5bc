"""What a fault is, and what it is given: one completion on its way through the proxy."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import msgspec

Tokenize = Callable[[str], Awaitable[list[int]]]
Events = AsyncGenerator["Event", None]
Count = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
DONE = "[DONE]"


@dataclass
class Event:
    """One event of a stream, or a whole answer.

    Attributes:
        data: as it came.
        body: what it holds; None for the mark at a stream's end.
        changed: `body` is no longer what `data` says.
    """

    data: str
    body: dict[str, Any] | None
    whole: bool = False
    changed: bool = False

    def text(self) -> str:
        """What goes to the client."""
        return msgspec.json.encode(self.body).decode() if self.changed else self.data

    def choices(self) -> list[dict[str, Any]]:
        """Those that it tells of."""
        found = (self.body or {}).get("choices")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


@dataclass
class Exchange:
    """One completion.

    Attributes:
        number: it is the so-manyth since the proxy began, from 1.
        in_flight: completions on their way when it came, itself among them.
        peak: the most of them while it lasts.
        tokenize: the server's own tokenizer; an empty list where it gives none.
        extra_tokens: so many more than the server made, by what faults wrote.
        acted: names of the faults that really changed something.
    """

    number: int
    streamed: bool
    seed: int
    in_flight: int
    tokenize: Tokenize
    peak: int = 0
    extra_tokens: int = 0
    acted: set[str] = field(default_factory=set)

    def draw(self, purpose: str) -> float:
        """A number in [0, 1) that depends on seed, purpose and the completion's number alone."""
        text = f"{self.seed}/{purpose}/{self.number}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:7], "big") / (1 << 56)


class LineCutError(Exception):
    """The line is cut in the middle of this event."""

    def __init__(self, event: Event) -> None:
        super().__init__("cut")
        self.event = event


class Act(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of a request that the server never sees.

    Attributes:
        status: answered with it; 0 for no answer at all.
        message: in the error that goes with the status.
        kind: that error's type.
        dies: the server is gone afterwards, and every other connection with it.
        back_after_s: it listens again after so long; -1 never.
        log: what a server would have written.
    """

    status: int = 0
    message: str = ""
    kind: str = "InternalServerError"
    dies: bool = False
    back_after_s: float = -1.0
    log: str = ""


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A way of being broken; by default it strikes every completion.

    Attributes:
        share: of completions that it strikes, drawn one by one.
        above: strikes only while at least so many completions are on their way.
        after: spares the first so many completions.
    """

    name: ClassVar[str] = ""
    about: ClassVar[str] = ""
    main: ClassVar[str] = "share"

    share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    above: Annotated[int, msgspec.Meta(ge=0)] = 0
    after: Annotated[int, msgspec.Meta(ge=0)] = 0

    def may_strike(self, exchange: Exchange) -> bool:
        """All but `above`, which only time tells."""
        return exchange.number > self.after and exchange.draw(self.name) < self.share

    def strikes(self, exchange: Exchange) -> bool:
        """This completion is one of those."""
        return self.may_strike(exchange) and exchange.peak >= self.above

    def arrives(self, exchange: Exchange) -> Act | None:
        """What becomes of a request at once; None where the server is to answer it."""
        return None

    def act(self, exchange: Exchange, events: Events) -> Events:
        """The events of an answer that is struck."""
        return events

    def scrape(self, text: str) -> str:
        """The answer of ``/metrics``."""
        return text


async def chained(fault: Fault, exchange: Exchange, events: Events) -> Events:
    """The events as the fault leaves them; it is decided when the first has come."""
    first = await anext(events, None)
    if first is None:
        return
    rest = _before(first, events)
    async for event in fault.act(exchange, rest) if fault.strikes(exchange) else rest:
        yield event


async def _before(first: Event, events: Events) -> Events:
    yield first
    async for event in events:
        yield event
