"""Bring the arms of an A/B run up, and look at each before anything is asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from sparkproof.adapters.restart import Restart
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.results.ab import AbArm
from sparkproof.core.server_port import Ask, ServerPort
from sparkproof.formats.openai_answer import Answer, Tokens, parse_as
from sparkproof.gates.ab_arms import TOKENIZED, counted_there, same_process
from sparkproof.gates.fingerprint import PROMPTS
from sparkproof.gates.smoke_speech import read_fingerprint
from sparkproof.load.ask import raw_ask
from sparkproof.usecases.expectations import refuse_model
from sparkproof.usecases.live import Session, take_snapshot

_LOOK_S = 5.0
_POLL_S = 1.0


class ArmRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One arm as the user gave it.

    Attributes:
        address: of its server.
        deployment: what is being served there, for the attribution.
        restart: the command that brings it up; "" for a server that is there.
        log: what it logs to: a file, ``container:NAME`` or ``unit:NAME``.
    """

    address: str
    deployment: Deployment | None = None
    restart: str = ""
    log: str = ""


async def look_at(port: ServerPort, name: str, wanted: str) -> AbArm:
    """Version, model, tokenizer and fingerprint.

    Raises:
        UnreachableError: nothing answers there.
        UsageError: the model that is wanted is not served.
    """
    snapshot = await take_snapshot(port)
    model = refuse_model(
        [m.name for m in snapshot.models], wanted, snapshot.unknowns, f"the {name}"
    )
    session = Session(port)
    for label, text in PROMPTS.items():
        await session.ask(raw_ask(f"fingerprint/{label}", model, text, 1, prompt_logprobs=0))
    exchanges = tuple(session.exchanges)
    return AbArm(
        name=name,
        snapshot=snapshot,
        model=model,
        token_ids=await _tokenized(port, model),
        fingerprint=read_fingerprint(exchanges),
        system_fingerprint=next(
            (s for e in exchanges if e.ok and (s := _system(e.body.encode()))), ""
        ),
    )


async def _tokenized(port: ServerPort, model: str) -> tuple[tuple[int, ...], ...]:
    found = []
    for text in TOKENIZED:
        body = msgspec.json.encode({"model": model, "prompt": text})
        reply = await port.send(Ask("tokenize", "/tokenize", body, timeout_s=20))
        try:
            tokens = parse_as(Tokens, reply.body, "/tokenize") if reply.ok else None
        except FormatError:
            tokens = None
        if tokens is None:
            return ()
        found.append(tuple(tokens.tokens))
    return tuple(found)


def _system(body: bytes) -> str:
    try:
        return parse_as(Answer, body, "completions").system_fingerprint or ""
    except FormatError:
        return ""


async def refuse_same(control: ServerPort, arm: AbArm, other: ServerPort, treatment: AbArm) -> None:
    """Raise where two arms are one server: one address, or one start and one set of counters.

    Raises:
        UsageError: they are.
    """
    same = control.name == other.name
    one, two = arm.snapshot.counts, treatment.snapshot.counts
    if not same and same_process(one, two):
        session = Session(other)
        before = await session.counts()
        await control.send(raw_ask("same", arm.model, "Count from 3:\n", 3))
        await asyncio.sleep(0.2)
        same = counted_there(before, await session.counts())
    if same:
        raise UsageError(
            f"control and {treatment.name} are the same server ({control.name})",
            hint="--aa asks one server twice, or in two ways: what does it differ from itself by?",
        )


@asynccontextmanager
async def brought_up(port: ServerPort, command: str, wait_s: float) -> AsyncIterator[Restart]:
    """The command, and the server as the command brings it up, for as long as the block lasts.

    Raises:
        UnreachableError: the command failed, or no other server is there within the time.
    """
    before = await _start_of(port)
    restart = Restart(command)
    restart.start()
    keeping = asyncio.create_task(restart.keep_small())
    try:
        await _await_other(port, restart, before, wait_s)
        restart.stayed = not restart.returned
        yield restart
    finally:
        keeping.cancel()
        await restart.stop()


async def _start_of(port: ServerPort) -> float | None:
    counts = await Session(port).counts()
    return counts.start_s if counts else None


async def _await_other(
    port: ServerPort, restart: Restart, before: float | None, wait_s: float
) -> None:
    """Wait for a healthy server that is not the one from before."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait_s
    while loop.time() < end:
        restart.refuse_failed()
        reply = await port.send(Ask("health", "/health", timeout_s=_LOOK_S))
        if reply.status == 200:
            now = await _start_of(port)
            if now != before or (now is None and restart.returned):
                return
        await asyncio.sleep(min(_POLL_S, wait_s / 20))
    raise UnreachableError(
        f"`{restart.name}` brought no new server up at {port.name} within {wait_s:g} s",
        hint="--wait SECONDS gives it longer; the server that was there has to go",
    )
