"""Faults of the line: when pieces come, how many tokens they carry, whether they come at all."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from sparkproof.testing.faults.answer import merge, spots
from sparkproof.testing.faults.fault import (
    Count,
    Event,
    Events,
    Exchange,
    Fault,
    LineCutError,
    Seconds,
)


class Midway(Fault, frozen=True, kw_only=True):
    """Something happens to the line after so many pieces of text, or to a whole answer."""

    pieces: Count = 3

    def due(self, event: Event, seen: int) -> bool:
        """Whether it happens before this event, `seen` pieces after the beginning."""
        return event.whole or seen == self.pieces

    async def strike(self, event: Event) -> None:
        """What happens then."""
        raise NotImplementedError

    async def act(self, exchange: Exchange, events: Events) -> Events:
        """As `Fault.act`."""
        seen = 0
        async for event in events:
            if self.due(event, seen):
                exchange.acted.add(self.name)
                await self.strike(event)
            seen += has_text(event)
            yield event


class Stall(Midway, frozen=True, kw_only=True):
    """Falls silent for good, the connection open."""

    name: ClassVar[str] = "stall"
    about: ClassVar[str] = "falls silent for good after so many pieces, the connection open"
    main: ClassVar[str] = "pieces"

    async def strike(self, event: Event) -> None:
        """As `Midway.strike`."""
        await asyncio.Event().wait()


class Pause(Midway, frozen=True, kw_only=True):
    """Falls silent for a while."""

    name: ClassVar[str] = "pause"
    about: ClassVar[str] = "falls silent for so many seconds after some pieces"
    main: ClassVar[str] = "seconds"
    seconds: Seconds = 5.0

    def due(self, event: Event, seen: int) -> bool:
        """Once, however many events without text follow."""
        return event.whole or (seen == self.pieces and has_text(event))

    async def strike(self, event: Event) -> None:
        """As `Midway.strike`."""
        await asyncio.sleep(self.seconds)


class Slow(Fault, frozen=True, kw_only=True):
    """One answer in so many drags; the average hardly shows it."""

    name: ClassVar[str] = "slow"
    about: ClassVar[str] = "slows one stream in ten, by so many seconds a piece"
    main: ClassVar[str] = "seconds"
    seconds: Seconds = 0.05
    every: Count = 10

    def may_strike(self, exchange: Exchange) -> bool:
        """As `Fault.may_strike`."""
        due = (exchange.number + exchange.seed) % self.every == 0
        return due and Fault.may_strike(self, exchange)

    async def act(self, exchange: Exchange, events: Events) -> Events:
        """As `Fault.act`."""
        exchange.acted.add(self.name)
        async for event in events:
            await asyncio.sleep(self.seconds)
            yield event


class Truncate(Midway, frozen=True, kw_only=True):
    """The connection breaks in the middle of an answer."""

    name: ClassVar[str] = "truncate"
    about: ClassVar[str] = "cuts the connection in the middle of a share of the answers"

    async def strike(self, event: Event) -> None:
        """As `Midway.strike`."""
        raise LineCutError(event)


class Pack(Fault, frozen=True, kw_only=True):
    """Several tokens a chunk, as under speculation: who counts chunks counts wrong."""

    name: ClassVar[str] = "pack"
    about: ClassVar[str] = "packs the text of so many pieces into one"
    main: ClassVar[str] = "pieces"
    pieces: Count = 4

    async def act(self, exchange: Exchange, events: Events) -> Events:
        """As `Fault.act`."""
        held: list[Event] = []
        channel = ""
        async for event in events:
            spot = None if event.whole else next(spots(event), None)
            if held and (spot is None or spot.channel != channel or len(held) == self.pieces):
                yield self._merged(exchange, held)
            if spot is None:
                yield event
                continue
            channel = spot.channel
            held.append(event)
        if held:
            yield self._merged(exchange, held)

    def _merged(self, exchange: Exchange, held: list[Event]) -> Event:
        if len(held) > 1:
            exchange.acted.add(self.name)
        event = merge(held)
        held.clear()
        return event


def has_text(event: Event) -> bool:
    """It carries text."""
    return next(spots(event), None) is not None
