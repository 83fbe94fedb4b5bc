"""Why an agent stalls: put the very request again, in every way, and find the one cause."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec

from sparkproof.adapters.log_sources import read_small
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.digest import digest
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.finding import Severity
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.server_snapshot import EngineCounts, between
from sparkproof.core.report import Report
from sparkproof.core.results.why import WhyResult
from sparkproof.core.server_port import Ask, Failure, ServerPort
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict
from sparkproof.formats.openai_answer import Tokens, error_message, parse_as
from sparkproof.gates.pages import make_finding
from sparkproof.gates.smoke_server import engine_of
from sparkproof.gates.why import find_cause, follow_ups
from sparkproof.load.ask import CHAT, RAW
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.exchange_rules import answer_rule
from sparkproof.usecases.keep import keep
from sparkproof.usecases.live import Ports, Session, SilentServerError, take_snapshot

PATIENCE_S = 120.0
_KEPT = 1 << 20
_POLL_S = 0.5
_HEALTH_S = 10.0
_OK = 200
_RAW_LABEL = "direct/raw"
_LIMIT = 16 << 20
_MESSAGES, _RESPONSES = "/v1/messages", "/v1/responses"
_BODIES = frozenset({"messages", "prompt", "input"})
_PLAIN = {
    "messages": [{"role": "user", "content": "Say hello in one sentence."}],
    "max_tokens": 128,
    "temperature": 0,
}


def why(
    address: str,
    *,
    replay: Path | None = None,
    gateway: str = "",
    model: str = "",
    waited_s: float = 0.0,
    patience_s: float = PATIENCE_S,
    store: ReceiptStore | None = None,
    port: ServerPort | None = None,
    other: ServerPort | None = None,
) -> Report[WhyResult]:
    """Find out why a request is not answered as it should be.

    Args:
        replay: the request's JSON body, alone or in a recording that has a ``request`` or
            ``body``; a plain question of ours without it.
        gateway: the address that the agent really uses, where that is not the server's own.
        waited_s: how long the agent waited.
        patience_s: how long we wait for each answer.

    Raises:
        UsageError, FormatError, UnreachableError: the request can't be read, or no address.
    """
    body, path, given = read_request(replay)
    run = WhyRun(body, path, given=given, patience_s=patience_s, waited_s=waited_s, model=model)

    async def go() -> None:
        async with Ports(address, gateway, port, other) as (direct, behind):
            await run.go(direct, behind)

    try:
        asyncio.run(go())
    except KeyboardInterrupt:
        if run.result is None:
            raise
        run.result = msgspec.structs.replace(run.result, interrupted=True)
    assert run.result is not None
    return keep(report_why(run.result), store, {"request": digest(run.result.request)})


def read_request(path: Path | None) -> tuple[dict[str, Any], str, bool]:
    """Body, path and whether it is the user's.

    Raises:
        FormatError, UnreachableError: no JSON object, or it can't be read.
    """
    if path is None:
        return dict(_PLAIN), CHAT, False
    try:
        value = msgspec.json.decode(read_small(path, _LIMIT))
    except (msgspec.DecodeError, RecursionError) as error:
        raise FormatError(f"no JSON: {error}", where=path.name) from error
    route = ""
    while isinstance(value, dict) and not _BODIES & value.keys():
        route = str(value.get("path") or value.get("url") or route)
        inner = next((value[k] for k in ("request", "body", "json") if k in value), None)
        if isinstance(inner, str):
            with contextlib.suppress(msgspec.DecodeError):
                inner = msgspec.json.decode(inner)
        value = inner
    if not isinstance(value, dict):
        raise FormatError(
            "no request in it", where=path.name, hint="give the JSON body that the agent sends"
        )
    if other := _other_api(value, route):
        raise FormatError(
            f"a request of {other}, which can't be put as a chat and stay the same",
            where=path.name,
            hint=f"give one of {CHAT} or {RAW}; without --replay a plain question is asked",
        )
    guess = CHAT if "messages" in value else RAW
    return value, next((p for p in (CHAT, RAW) if route.endswith(p)), guess), True


def _other_api(body: dict[str, Any], route: str) -> str:
    """The path that the body belongs to, where it is neither chat nor completion."""
    tools = body.get("tools")
    theirs = any("input_schema" in t for t in tools or () if isinstance(t, dict))
    if route.endswith(_MESSAGES) or {"system", "anthropic_version"} & body.keys() or theirs:
        return _MESSAGES
    return "" if {"messages", "prompt"} & body.keys() else _RESPONSES


class WhyRun:
    """Tries one way after the other; has a result from the first one on."""

    def __init__(
        self,
        body: dict[str, Any],
        path: str,
        *,
        given: bool,
        patience_s: float,
        waited_s: float,
        model: str,
    ) -> None:
        self._body, self._path = body, path
        self._given = given
        self._patience_s = patience_s
        self._waited_s = waited_s
        self._model = model
        self._seen: list[EngineCounts] = []
        self._could_not: list[str] = []
        self._health = -1
        self.result: WhyResult | None = None

    async def go(self, port: ServerPort, gateway: ServerPort | None) -> None:
        """Everything worth trying, most telling first."""
        session = Session(port, kept_bytes=_KEPT)
        base = await self._look(port, gateway)
        watch = asyncio.create_task(self._watch(session))
        before = await session.counts()
        try:
            await self._both(session, "direct")
            self._note(base, session, before, await session.counts())
            assert self.result is not None
            for label, body in follow_ups(self.result, self._body).items():
                await session.ask(self._ask(label, body, stream=False))
            await self._raw(session)
            if any(e.failure is Failure.DROPPED for e in session.exchanges):
                self._health = (
                    await port.send(Ask("health", "/health", timeout_s=_HEALTH_S))
                ).status
            if gateway is not None:
                await self._both(behind := Session(gateway, kept_bytes=_KEPT), "gateway")
                session.exchanges += behind.exchanges
        finally:
            watch.cancel()
        self._note(base, session, before, await session.counts())

    async def _look(self, port: ServerPort, gateway: ServerPort | None) -> WhyResult:
        base = WhyResult(
            address=port.name,
            gateway=gateway.name if gateway else "",
            path=self._path,
            given=self._given,
            waited_s=self._waited_s,
        )
        try:
            snapshot = await take_snapshot(port)
        except SilentServerError:  # every way would be waited for in vain
            raise
        except UnreachableError as error:
            self._could_not.append(error.message)
            snapshot = None
        if self._model or not self._body.get("model"):
            names = [m.name for m in snapshot.models] if snapshot else []
            self._body = {**self._body, "model": self._model or (names or ["model"])[0]}
        base = msgspec.structs.replace(base, request=msgspec.json.encode(self._body).decode())
        if snapshot is None:
            return base
        if engine := engine_of(snapshot):
            self._could_not.append(f"this is {engine}, not vLLM: causes and remedies are vLLM's")
        if snapshot.counts is None:
            self._could_not.append(
                "no /metrics: queueing, preemption and a hang can't be told apart"
            )
        return msgspec.structs.replace(
            base, version=snapshot.version, health=snapshot.healthy, models=snapshot.models
        )

    async def _both(self, session: Session, kind: str) -> None:
        whole = await session.ask(self._ask(f"{kind}/whole", self._body, stream=False))
        ask = self._ask(f"{kind}/stream", self._body, stream=True)
        if whole.failure in (Failure.TIMEOUT, Failure.SILENT):  # a stream shows it sooner
            short = self._patience_s / 4
            ask = msgspec.structs.replace(ask, timeout_s=short, silence_s=short)
        await session.ask(ask)

    def _ask(self, label: str, body: dict[str, Any], *, stream: bool) -> Ask:
        plain = {k: v for k, v in body.items() if k not in ("stream", "stream_options")}
        if stream:
            plain |= {"stream": True, "stream_options": {"include_usage": True}}
        data = msgspec.json.encode(plain)
        return Ask(label, self._path, data, timeout_s=self._patience_s, silence_s=self._patience_s)

    async def _raw(self, session: Session) -> None:
        """The chat as tokens, put to the raw endpoint: what the model writes, past every parser."""
        assert self.result is not None
        whole = self.result.exchange("direct/whole")
        refused = whole is not None and whole.status != _OK
        if self._path != CHAT or refused or not any(self.result.answer_rules.values()):
            return
        fields = ("model", "messages", "tools", "chat_template_kwargs")
        body = {k: v for k, v in self._body.items() if k in fields}
        reply = await session.port.send(
            Ask(
                "tokenize",
                "/tokenize",
                msgspec.json.encode({**body, "add_generation_prompt": True}),
            )
        )
        try:
            tokens = parse_as(Tokens, reply.body, "/tokenize").tokens if reply.ok else []
        except FormatError:
            tokens = []
        if not tokens:
            said = reply.detail or f"{reply.status} {error_message(reply.body)[:120]}"
            self._could_not.append(
                f"/tokenize gives no tokens ({said}): what the model writes past the parsers is"
                " not shown"
            )
            return
        budget = int(self._body.get("max_tokens") or 256)
        raw = {
            "model": self._body["model"],
            "prompt": tokens,
            "max_tokens": budget,
            "temperature": self._body.get("temperature", 0),
            "skip_special_tokens": False,
        }
        data = msgspec.json.encode(raw)
        await session.ask(Ask(_RAW_LABEL, RAW, data, timeout_s=self._patience_s))

    async def _watch(self, session: Session) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            if (counts := await session.counts()) is not None:
                self._seen.append(counts)

    def _note(
        self,
        base: WhyResult,
        session: Session,
        before: EngineCounts | None,
        after: EngineCounts | None,
    ) -> None:
        window = between(before, after, tuple(self._seen)) if before and after else None
        exchanges = tuple(session.exchanges)
        self.result = msgspec.structs.replace(
            base,
            exchanges=exchanges,
            answer_rules={e.label: self._rule(e) for e in exchanges},
            window=window,
            health_after=self._health,
            could_not=tuple(self._could_not),
        )

    def _rule(self, exchange: Exchange) -> str:
        """The rule that an answer breaks; a budget of our own is no fault."""
        rule = answer_rule(exchange)
        ours = not self._given or exchange.label == _RAW_LABEL
        return "" if rule == "response/cut-off" and ours else rule


def report_why(result: WhyResult) -> Report[WhyResult]:
    """Judge a result, fresh or stored."""
    cause = find_cause(result)
    if cause is None:
        odd = any(result.answer_rules.get(label) for label in ("direct/whole", "direct/stream"))
        cause = make_finding("response/unclear" if odd else "why/nothing-shown")
        verdict, rule = Verdict.INCONCLUSIVE, ""
    else:
        broken = cause.severity is Severity.ERROR
        verdict, rule = Verdict.FAIL if broken else Verdict.PASS, cause.rule
    hint = () if result.given else ("give the agent's own request: --replay request.json",)
    return make_report(
        "why",
        msgspec.structs.replace(result, rule=rule),
        verdict=verdict,
        summary=cause.message,
        findings=(cause,),
        unknowns=tuple(Unknown(result.address, reason, "why") for reason in result.could_not),
        next_steps=(f"sparkproof explain {cause.rule}", *(hint if not rule else ())),
    )
