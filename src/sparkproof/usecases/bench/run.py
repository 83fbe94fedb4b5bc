"""Run a load plan against a server, cell by cell; looking into answers waits until all are in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from sparkproof.adapters.client_health import HealthWatch
from sparkproof.adapters.clock import timestamp
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.observations.exchange import StreamReading
from sparkproof.core.observations.load_run import Cell, CellRun, LoadPlan, RequestRecord
from sparkproof.core.observations.server_snapshot import EngineCounts, between
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.server_port import Ask, Reply, ServerPort
from sparkproof.formats.openai_answer import error_message
from sparkproof.formats.vllm_metrics import read_counts
from sparkproof.gates.bench import derive, load_ask
from sparkproof.load.observe import read_stream, without_text
from sparkproof.load.prompts import ASK_WORDS, compose, words_for
from sparkproof.load.schedule import arrivals
from sparkproof.usecases.expectations import refuse_model
from sparkproof.usecases.live import Session, take_snapshot

_SAMPLE_WORDS = 200
_SCRAPE_S = 2.0
_SAID = 200
Say = Callable[[str], None]


class BenchRun:
    """Runs cell by cell and has the finished ones at any moment."""

    def __init__(self, plan: LoadPlan, *, model: str, timeout_s: float, say: Say) -> None:
        self._plan = plan
        self._model = model
        self._timeout_s = timeout_s
        self._say = say
        self._runs: list[CellRun] = []
        self._nonce = f"{time.time_ns():x}"
        self.result: BenchResult | None = None
        self.interrupted = False

    async def prepare(self, port: ServerPort) -> None:
        """Look at the server, and warm every cell up."""
        snapshot = await take_snapshot(port)
        self._model = refuse_model(
            [m.name for m in snapshot.models], self._model, snapshot.unknowns
        )
        self.result = BenchResult(snapshot=snapshot, model=self._model, plan=self._plan)
        self._port = port
        self._words = await self._depths(port, self._model)

    async def step(self, repeat: int, index: int) -> None:
        """One repeat of one cell."""
        cell = self._plan.cells[index]
        self._say(f"round {repeat + 1} of {self._plan.repeats}: {cell_words(cell)}")
        seed = f"{self._nonce}-{repeat}-{index}"
        asks = [
            self._ask(cell, self._model, self._words[index], f"{seed}-{n}")
            for n in range(cell.requests)
        ]
        self._runs.append(await run_cell(self._port, asks, cell, index, repeat, seed))

    async def _depths(self, port: ServerPort, model: str) -> list[int]:
        """Words for each cell's depth, from the server's own counts of a warm-up request."""
        sample = compose(_SAMPLE_WORDS, self._nonce)
        tokens = await Session(port).count_tokens(model, sample) or round(_SAMPLE_WORDS * 1.3)
        found: list[int] = []
        for index, cell in enumerate(self._plan.cells):
            self._say(f"warming up: {cell_words(cell)}")
            words = max(2, words_for(cell.depth, _SAMPLE_WORDS, tokens) - ASK_WORDS)
            warm = msgspec.structs.replace(cell, output=min(cell.output, 8))
            reply = await port.send(self._ask(warm, model, words, f"{self._nonce}-warm-{index}"))
            _refuse_broken(reply)
            counted = read_stream(reply).prompt_tokens
            beside = counted - cell.depth if counted > 0 else 0
            found.append(max(2, words - round(beside * _SAMPLE_WORDS / tokens)))
        return found

    def _ask(self, cell: Cell, model: str, words: int, seed: str) -> Ask:
        ask = load_ask("load", model, cell, words, seed)
        return msgspec.structs.replace(ask, timeout_s=self._timeout_s, silence_s=self._timeout_s)

    def finished(self) -> BenchResult:
        """The result as far as it came."""
        assert self.result is not None
        raw = msgspec.structs.replace(
            self.result, runs=tuple(self._runs), interrupted=self.interrupted
        )
        return derive(raw)


async def run_cell(
    port: ServerPort, asks: Sequence[Ask], cell: Cell, index: int, repeat: int, seed: str
) -> CellRun:
    """One repeat of one cell. Answers are only looked into when all of them are in."""
    session = Session(port)
    before = await session.counts()
    started_at = timestamp(datetime.now(UTC))
    scrapes: list[Reply] = []
    async with HealthWatch() as watch:
        began = time.perf_counter()
        scraper = asyncio.create_task(_scrape(port, scrapes))
        try:
            replies = await (_open if cell.rate_per_s else _closed)(port, asks, cell, seed)
        finally:
            scraper.cancel()
    records = tuple(_record(reply, began) for reply in replies)
    after = await session.settled(before, len(records))
    seen = tuple(c for reply in scrapes if (c := _counts(reply)))
    return CellRun(
        cell=index,
        repeat=repeat,
        started_at=started_at,
        requests=records,
        health=watch.health(),
        window=between(before, after, seen) if before and after else None,
    )


async def _closed(port: ServerPort, asks: Sequence[Ask], cell: Cell, _: str) -> list[Reply]:
    """So many in flight: each stream sends its next request when its last one is done."""
    waiting = iter(asks)
    replies: list[Reply] = []

    async def stream() -> None:
        for ask in waiting:
            replies.append(await port.send(ask))  # noqa: PERF401 - one after the other

    await asyncio.gather(*(stream() for _ in range(cell.concurrency)))
    return replies


async def _open(port: ServerPort, asks: Sequence[Ask], cell: Cell, seed: str) -> list[Reply]:
    """So many a second, whether or not the earlier ones are done."""
    start = time.perf_counter()

    async def one(ask: Ask, moment: float) -> Reply:
        await asyncio.sleep(max(0.0, start + moment - time.perf_counter()))
        return await port.send(ask)

    moments = arrivals(cell.rate_per_s, len(asks), seed)
    return list(await asyncio.gather(*map(one, asks, moments)))


async def _scrape(port: ServerPort, kept: list[Reply]) -> None:
    while True:
        await asyncio.sleep(_SCRAPE_S)
        kept.append(await port.send(Ask("metrics", "/metrics", timeout_s=10)))


def _counts(reply: Reply) -> EngineCounts | None:
    try:
        return read_counts(reply.body, "/metrics") if reply.ok else None
    except FormatError:
        return None


def _record(reply: Reply, began: float) -> RequestRecord:
    stream = "event-stream" in reply.content_type
    detail = reply.detail
    if not stream and not detail:
        detail = " ".join(reply.body[:300].decode("utf-8", "replace").split())
    return RequestRecord(
        sent_s=round(reply.sent_s - began, 6),
        status=reply.status,
        failure=reply.failure,
        detail=detail,
        reading=without_text(read_stream(reply)) if stream else StreamReading(),
    )


def _refuse_broken(reply: Reply) -> None:
    stream = "event-stream" in reply.content_type
    said = reply.detail or (read_stream(reply).error if stream else _first_words(reply))
    if reply.ok and not said:
        return
    raise UnreachableError(
        f"the server does not answer the kind of request to be measured: {reply.status} {said}",
        hint="`sparkproof why URL` tells why; --mode raw needs no chat template",
    )


def _first_words(reply: Reply) -> str:
    """What was said in place of a stream."""
    instead = f"{reply.content_type or 'no type'} in place of a stream: " if reply.ok else ""
    return f"{instead}{error_message(reply.body)[:_SAID]}"


def cell_words(cell: Cell) -> str:
    """``answer, 6000 tokens deep, 8 at once``."""
    return f"{cell.mode}, {cell.depth} tokens deep, {cell.load}"
