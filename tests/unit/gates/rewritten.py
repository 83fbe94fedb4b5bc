"""A stand-in behind something that rewrites its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sparkproof.core.server_port import Ask, Reply
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour

Change = Callable[[Ask, Reply], Reply]


@dataclass
class Rewritten:
    """`ServerPort` whose every answer goes through `change`."""

    change: Change
    port: FakePort = field(default_factory=FakePort)
    name: str = "http://stand-in"

    async def send(self, ask: Ask) -> Reply:
        """The stand-in's answer, changed."""
        return self.change(ask, await self.port.send(ask))


def rewritten(change: Change, **behaviour: Any) -> Rewritten:
    """A stand-in of that behaviour behind `change`."""
    return Rewritten(change, FakePort(StandIn(Behaviour(**behaviour))))


def with_body(reply: Reply, body: bytes, **more: Any) -> Reply:
    """The reply with another body, all of it in its last moment."""
    return msgspec.structs.replace(reply, pieces=((reply.ended_s, body),), **more)


def renamed_metrics(ask: Ask, reply: Reply) -> Reply:
    """Metrics under names that nobody knows."""
    if ask.path != "/metrics":
        return reply
    return with_body(reply, reply.body.replace(b"vllm:", b"other_"))


def hidden_errors(ask: Ask, reply: Reply) -> Reply:
    """Every POST is answered with an error and status 200."""
    if ask.method == "GET":
        return reply
    error = b'{"error": {"message": "upstream connect error", "code": 503}}'
    return with_body(reply, error, status=200, content_type="application/json")
