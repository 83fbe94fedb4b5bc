"""What is wrong with how an answer came, whatever it says."""

from __future__ import annotations

from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.server_port import Failure

_STREAM = "/stream"
_UNREADABLE = frozenset({Failure.NOT_HTTP, Failure.TOO_LARGE, Failure.DROPPED})


def stream_fault(exchange: Exchange) -> str:
    """What a client that reads the stream would trip over, in words; "" for a sound one.

    Told of answers that came: a line that broke is a fault of its own.
    """
    if not exchange.ok or not exchange.label.endswith(_STREAM):
        return ""
    stream = exchange.stream
    if stream is None:
        return f"a stream was asked for, and {exchange.content_type or 'no type'} came in one piece"
    if stream.invalid:
        return f"{stream.invalid} of {stream.events} events are no JSON"
    return "" if stream.done else "the stream ends without [DONE]"


def is_unreadable(exchange: Exchange) -> bool:
    """An answer began and can't be read to its end."""
    return exchange.failure in _UNREADABLE and exchange.status > 0


def said_of(exchange: Exchange) -> str:
    """What went wrong, in the server's own words where it has any; "" where nothing did."""
    stream = exchange.stream
    return exchange.detail or exchange.error or (stream.error if stream else "")
