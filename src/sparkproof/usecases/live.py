"""What every gate on a live server does alike: ask and scrape."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sparkproof.adapters.server import Server, key_of
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.server_snapshot import EngineCounts, Served, ServerSnapshot
from sparkproof.core.refs import RefKind
from sparkproof.core.server_port import Ask, Failure, Reply, ServerPort
from sparkproof.core.subject import Subject
from sparkproof.core.unknown import Unknown
from sparkproof.formats.openai_answer import (
    ModelList,
    Tokens,
    VersionAnswer,
    error_message,
    hidden_error,
    parse_as,
)
from sparkproof.formats.vllm_metrics import read_counts
from sparkproof.load.observe import KEPT_BYTES, observe

T = TypeVar("T")
_SETTLE_S = 2.0
_LOOK_S = 20.0
_VERSION = 120
"""Characters of a version; what is longer is none, and would be quoted again and again."""
_FIRST_LOOK_S = 8.0
"""A server that answers none of four small questions within it will not answer larger ones."""


_LOOKS = (
    ("models", "/v1/models"),
    ("version", "/version"),
    ("health", "/health"),
    ("metrics", "/metrics"),
)
_SILENCES = (Failure.SILENT, Failure.TIMEOUT)


class SilentServerError(UnreachableError):
    """It takes connections and says nothing."""


class Ports:
    """The server, and the gateway in front of it where there is one, open while in use.

    Args:
        address: of the server.
        gateway: of the gateway ("" for none).
        port, other: asked in place of them.
    """

    def __init__(
        self,
        address: str,
        gateway: str = "",
        port: ServerPort | None = None,
        other: ServerPort | None = None,
    ) -> None:
        key = key_of()
        self._port: ServerPort = port or Server(address, key=key)
        self._other: ServerPort | None = other or (Server(gateway, key=key) if gateway else None)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> tuple[ServerPort, ServerPort | None]:
        for port in (self._port, self._other):
            if isinstance(port, Server):
                await self._stack.enter_async_context(port)
        return self._port, self._other

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


class Session:
    """Asks one server and keeps every exchange in order.

    Args:
        silences: after so many in a row nothing more is asked; 0 for no such end.
    """

    def __init__(
        self, port: ServerPort, *, kept_bytes: int = KEPT_BYTES, silences: int = 0
    ) -> None:
        self.port = port
        self._kept_bytes = kept_bytes
        self._silences = silences
        self._silent = 0
        self.exchanges: list[Exchange] = []

    async def ask(self, ask: Ask) -> Exchange:
        """One request."""
        (exchange,) = await self.ask_together([ask])
        return exchange

    async def ask_together(self, asks: Iterable[Ask]) -> tuple[Exchange, ...]:
        """Several at once."""
        found = tuple(await asyncio.gather(*map(self._one, asks)))
        silent = all(e.failure in _SILENCES and not e.status for e in found)
        self._silent = self._silent + 1 if silent and found else 0
        return found

    async def _one(self, ask: Ask) -> Exchange:
        if self._silences and self._silent >= self._silences:
            reply = Reply(0, failure=Failure.SILENT, detail="not asked: it was silent before")
        else:
            reply = await self.port.send(ask)
        exchange = observe(ask, reply, kept_bytes=self._kept_bytes)
        self.exchanges.append(exchange)
        return exchange

    async def counts(self) -> EngineCounts | None:
        """A scrape; None where there is none to be had."""
        reply = await self.port.send(Ask("metrics", "/metrics", timeout_s=_LOOK_S))
        try:
            return read_counts(reply.body, "/metrics") if reply.ok else None
        except FormatError:
            return None

    async def settled(self, before: EngineCounts | None, sent: int) -> EngineCounts | None:
        """A scrape once the counters have taken in the last of `sent` requests since `before`."""
        counts = await self.counts()
        if before is None or before.finished is None:
            return counts
        end = time.perf_counter() + _SETTLE_S
        while counts and (counts.finished or 0) - before.finished < sent:
            if time.perf_counter() >= end:
                break
            await asyncio.sleep(0.1)
            counts = await self.counts()
        return counts

    async def count_tokens(self, model: str, text: str) -> int:
        """The server's own count of a text; 0 where it does not count."""
        body = msgspec.json.encode({"model": model, "prompt": text})
        reply = await self.port.send(Ask("tokenize", "/tokenize", body, timeout_s=_LOOK_S))
        try:
            return parse_as(Tokens, reply.body, "/tokenize").count if reply.ok else 0
        except FormatError:
            return 0


async def take_snapshot(port: ServerPort) -> ServerSnapshot:
    """Version, health, models and metrics.

    Raises:
        UnreachableError: nothing answers there, or it refuses us.
    """
    models, version, health, metrics = replies = await asyncio.gather(
        *(port.send(Ask(label, path, timeout_s=_FIRST_LOOK_S)) for label, path in _LOOKS)
    )
    if models.status or not any(reply.status for reply in replies):
        refuse_unreachable(models, port.name)
    unknowns: list[Unknown] = []
    counts = _read(metrics, "/metrics", "metrics", unknowns, read_counts)
    told = _read(version, "/version", "version", unknowns, partial(parse_as, VersionAnswer))
    rows = _read(models, "/v1/models", "models", unknowns, partial(parse_as, ModelList))
    return ServerSnapshot(
        address=port.name,
        version=told.version[:_VERSION] if told else "",
        healthy=health.status,
        models=tuple(
            Served(m.id, m.max_model_len or 0, m.owned_by or "", Path(m.root or "").name)
            for m in (rows.data if rows else ())
        ),
        counts=counts,
        unknowns=tuple(unknowns),
    )


def refuse_unreachable(reply: Reply, name: str) -> None:
    """Raise where nothing can be asked at all.

    Raises:
        UnreachableError: with what would help.
    """
    if reply.status in (401, 403):
        raise UnreachableError(
            f"{name} wants a key ({reply.status})",
            hint="set SPARKPROOF_API_KEY to the server's key",
        )
    if not reply.failure and reply.detail:  # only a redirect has one without a failure
        raise UnreachableError(
            f"{name} {reply.detail} ({reply.status})", hint="give the address that it leads to"
        )
    if not reply.failure or reply.status:
        return
    hints = {
        Failure.REFUSED: "is the server up? `sparkproof log FILE` reads its log, "
        "`sparkproof smoke URL --wait 600` waits for it",
        Failure.TLS: "check the certificate, or SSL_CERT_FILE",
        Failure.NOT_HTTP: "is this the port of a vLLM server?",
    }
    kind = SilentServerError if reply.failure in _SILENCES else UnreachableError
    raise kind(
        f"{name} does not answer: {reply.detail}",
        hint=hints.get(reply.failure, "is it still loading? `sparkproof log FILE` reads its log"),
    )


def _read(reply: Reply, path: str, topic: str, unknowns: list[Unknown], parse: Any) -> Any:
    if not reply.ok:
        said = reply.detail or f"{reply.status} {error_message(reply.body)[:120]}"
        unknowns.append(Unknown(path, said, topic))
        return None
    if error := hidden_error(reply.body):
        unknowns.append(Unknown(path, f"200 with an error in it: {error[:120]}", topic))
        return None
    try:
        return parse(reply.body, path)
    except FormatError as broken:
        unknowns.append(Unknown.from_error(broken, topic))
        return None


def subject_of(snapshot: ServerSnapshot) -> Subject:
    """The server as a subject; its identity is what it says of itself."""
    model = snapshot.models[0] if snapshot.models else Served("")
    return Subject(
        kind=RefKind.SERVER,
        ref=snapshot.address,
        identity=f"vllm:{snapshot.version or 'unknown'}/{model.root or model.name}",
        name="vllm" if snapshot.version else "",
        version=snapshot.version,
        url=snapshot.address,
    )
