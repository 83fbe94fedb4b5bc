"""Run an A/B plan: pass by pass, every answer written down as it comes."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from sparkproof.adapters.client_health import HealthWatch
from sparkproof.adapters.clock import timestamp
from sparkproof.adapters.journal import Journal
from sparkproof.core.ab import Task
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.ab_run import AbAnswer, AbDeath, AbPass, AbPlan, AbRecord
from sparkproof.core.observations.exchange import StreamReading
from sparkproof.core.observations.load_run import RequestRecord
from sparkproof.core.observations.server_snapshot import between
from sparkproof.core.server_port import Failure, Reply, ServerPort
from sparkproof.formats.openai_answer import error_message
from sparkproof.gates.ab import ab_ask
from sparkproof.gates.ab_pairs import fault_words
from sparkproof.load.metrics import decode_tokens_per_s
from sparkproof.load.observe import read_stream, without_text
from sparkproof.load.token_stream import read_tokens
from sparkproof.usecases.live import Session

_DEAD_AFTER = 5
_KEPT_FAULTS = 40
_US = 1e6
Say = Callable[[str], None]
Key = tuple[int, int, int, bool]


class Answers:
    """All answers, packed: as objects their log-probabilities would fill the memory."""

    def __init__(self) -> None:
        self._packed: dict[Key, bytes] = {}

    def add(self, answer: AbAnswer) -> None:
        """Keep one; a later one of the same request takes its place."""
        self._packed[answer.key] = msgspec.msgpack.encode(answer)

    def get(self, key: Key) -> AbAnswer | None:
        """One of them."""
        packed = self._packed.get(key)
        return None if packed is None else msgspec.msgpack.decode(packed, type=AbAnswer)

    def all(self) -> Iterator[AbAnswer]:
        """One after the other."""
        for packed in self._packed.values():
            yield msgspec.msgpack.decode(packed, type=AbAnswer)

    def __contains__(self, key: Key) -> bool:
        return key in self._packed

    def __len__(self) -> int:
        return len(self._packed)


class AbRun:
    """What has been answered so far, in memory and in the journal.

    Args:
        journal: where records go; its earlier ones are not asked again.
        timeout_s: of one request.
    """

    def __init__(
        self,
        plan: AbPlan,
        tasks: Sequence[Task],
        journal: Journal,
        *,
        timeout_s: float,
        say: Say = lambda _: None,
    ) -> None:
        self.plan = plan
        self._tasks = tasks
        self._journal = journal
        self._timeout_s = timeout_s
        self._say = say
        self.answers = Answers()
        self.passes: list[AbPass] = []
        self.deaths: list[AbDeath] = []
        self.dead: set[int] = set()
        self.faults: dict[int, list[str]] = {arm: [] for arm in range(len(plan.arms))}
        self._refused = dict.fromkeys(range(len(plan.arms)), 0)
        for record in journal.records(AbRecord):
            if not _planned(record, plan):
                raise FormatError("a record of what was never planned", where=journal.path.name)
            if isinstance(record, AbPass):
                self.passes.append(record)
            elif isinstance(record, AbDeath):
                self.deaths.append(record)
            elif record.ok:
                self.answers.add(record)
        self._answered = Counter(answer.arm for answer in self.answers.all())
        self.resumed_after = len(self.answers)

    def died(self, death: AbDeath) -> None:
        """Write a death down; nothing more is asked of that arm."""
        self.deaths.append(death)
        self.dead.add(death.arm)
        self._journal.append(death)
        self._journal.sync()

    def answered(self, arm: int) -> int:
        """Whole answers of one arm."""
        return self._answered[arm]

    async def warm_up(self, port: ServerPort, arm: int, model: str) -> None:
        """The first tasks once each, unrecorded: a first request pays for what is compiled."""
        kinds = {bool(task.messages): task for task in reversed(self._tasks)}
        for place, task in enumerate(kinds.values()):
            salt = f"{self.plan.nonce}-warm-{arm}-{place}-{time.time_ns():x}"
            reply = await port.send(ab_ask(task, model, salt, self._timeout_s))
            if not reply.ok:
                self.faults[arm].append(reply.detail or error_message(reply.body))

    async def noise(self, port: ServerPort, model: str) -> None:
        """The control alone, for what it differs from itself by."""
        for index, cell in enumerate(self.plan.cells):
            if not cell.warm and self.plan.noise_prompts:
                asked = self.plan.noise_tasks()
                await self._pass(port, model, (0, index, 0, True), asked)

    async def round(self, port: ServerPort, model: str, arm: int, batch: int, number: int) -> None:
        """One round of one arm at one batch size: cold, then the same prompts again."""
        asked = [n for n in range(self.plan.prompts) if self.plan.round_of(n) == number]
        for index, cell in enumerate(self.plan.cells):
            if cell.batch == batch:
                await self._pass(port, model, (arm, index, number, False), asked)

    async def _pass(
        self,
        port: ServerPort,
        model: str,
        place: Key,
        asked: Iterable[int],
    ) -> None:
        arm, index, number, again = place
        whole = list(asked)
        missing = [n for n in whole if (arm, index, n, again) not in self.answers]
        if not missing or arm in self.dead:
            return
        cell = self.plan.cells[index]
        repeat = " again" if again else f" round {number + 1} of {self.plan.rounds}"
        self._say(f"{self.plan.arms[arm]}:{repeat}, {cell.name}, {len(missing)} prompts")
        session = Session(port)
        before = await session.counts()
        moment = timestamp(datetime.now(UTC))
        async with HealthWatch() as watch:
            found = await self._closed(port, model, place, missing)
        after = await session.settled(before, len(found))
        done = AbPass(
            arm=arm,
            cell=index,
            round=number,
            again=again,
            partial=len(missing) < len(whole) or arm in self.dead,
            started_at=moment,
            health=watch.health(),
            asked=len(found),
            failed=sum(not answer.ok for answer in found),
            fault=next((fault_words(answer) for answer in found if not answer.ok), ""),
            window=between(before, after) if before and after else None,
            start_s=after.start_s if after else None,
            ttft_s=_median(a.ttft_s for a in found),
            decode_tokens_per_s=_median(a.decode_tokens_per_s for a in found),
            output_tokens_per_s=_together(found),
        )
        self.passes.append(done)
        self._journal.append(done)
        self._journal.sync()

    async def _closed(
        self, port: ServerPort, model: str, place: Key, asked: list[int]
    ) -> list[AbAnswer]:
        """So many in flight: each stream sends its next request when its last one is done."""
        arm, index, _, again = place
        cell = self.plan.cells[index]
        waiting = iter(asked)
        found: list[AbAnswer] = []
        began = time.perf_counter()

        async def stream() -> None:
            for task in waiting:
                salt = f"{self.plan.nonce}-{arm}-{again:d}-{cell.batch}-{task}"
                ask = ab_ask(self._tasks[task], model, salt, self._timeout_s)
                reply = await port.send(ask)
                answer = read_answer(reply, began, arm=arm, cell=index, task=task, again=again)
                found.append(answer)
                self.answers.add(answer)
                self._journal.append(answer)
                self._count(arm, answer)
                if self._refused[arm] >= _DEAD_AFTER:
                    self.dead.add(arm)
                    return

        await asyncio.gather(*(stream() for _ in range(cell.batch)))
        return found

    def _count(self, arm: int, answer: AbAnswer) -> None:
        self._answered[arm] += answer.ok
        self._refused[arm] = 0 if answer.ok else self._refused[arm] + 1
        if not answer.ok and len(self.faults[arm]) < _KEPT_FAULTS:
            self.faults[arm].append(answer.detail or answer.failure.value)


def _planned(record: AbRecord, plan: AbPlan) -> bool:
    """Whether its places are some of the plan's."""
    if isinstance(record, AbDeath):
        return 0 <= record.arm < len(plan.arms) and -1 <= record.cell < len(plan.cells)
    place = record.round if isinstance(record, AbPass) else record.task
    places = plan.rounds if isinstance(record, AbPass) else plan.prompts
    known = 0 <= record.arm < len(plan.arms) and 0 <= record.cell < len(plan.cells)
    return known and 0 <= place < places


def read_answer(
    reply: Reply, began: float, *, arm: int, cell: int, task: int, again: bool
) -> AbAnswer:
    """What is kept of one reply."""
    stream = "event-stream" in reply.content_type
    reading = read_stream(reply) if stream else StreamReading()
    said = read_tokens(reply)
    failure, detail = reply.failure, reply.detail
    if stream and not failure and (reading.error or not reading.done):
        failure = Failure.DROPPED
        detail = reading.error or "the stream did not end as it should"
    if not stream and not failure:
        detail = error_message(reply.body)[:300] or "no event stream"
        failure = Failure.NOT_HTTP if reply.status == 200 else failure
    speed = RequestRecord(sent_s=0.0, status=reply.status, reading=without_text(reading))
    first = reading.first_token_us
    return AbAnswer(
        arm=arm,
        cell=cell,
        task=task,
        again=again,
        status=reply.status,
        failure=failure,
        detail=detail,
        text=said.text,
        calls=said.calls,
        finish=reading.finish_reason,
        tokens=said.tokens,
        completion_tokens=reading.completion_tokens,
        ttft_s=first / _US if first >= 0 else None,
        decode_tokens_per_s=decode_tokens_per_s(speed),
        sent_s=round(reply.sent_s - began, 6),
        ended_s=round(reply.sent_s - began + reply.ended_s, 6),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _together(found: Sequence[AbAnswer]) -> float | None:
    """All tokens by the time from the first request's start to the last one's end."""
    good = [a for a in found if a.ok and a.completion_tokens >= 0]
    if not good:
        return None
    span = max(a.ended_s for a in good) - min(a.sent_s for a in good)
    return sum(a.completion_tokens for a in good) / span if span > 0 else None
