"""One arm against others: look, plan, ask, and judge quality and speed together."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from sparkproof.adapters.journal import Journal, find_journal, records_folder
from sparkproof.adapters.restart import Restart
from sparkproof.adapters.scorer_program import refuse_scorer
from sparkproof.adapters.server import Server, key_of
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.ab import Task
from sparkproof.core.digest import digest
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.ab_run import AbPlan
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbArm, AbResult
from sparkproof.core.server_port import ServerPort
from sparkproof.gates.ab import (
    ab_ask,
    alpha_of,
    fitting,
    noise_prompts,
    order_of,
    plan_words,
    prompt_text,
    wanted_prompts,
)
from sparkproof.gates.ab_arms import refusals
from sparkproof.gates.ab_judge import derive
from sparkproof.gates.ab_pairs import make_pairs
from sparkproof.gates.ab_statistics import ALPHA
from sparkproof.gates.ab_tasks import TASK_SET, Form, bundled_tasks, set_digest
from sparkproof.usecases.ab.alive import Vital
from sparkproof.usecases.ab.arms import ArmRef, brought_up, look_at, refuse_same
from sparkproof.usecases.ab.cause import attribute, with_identities
from sparkproof.usecases.ab.report import report_ab
from sparkproof.usecases.ab.run import AbRun, Say
from sparkproof.usecases.ab.scoring import scorer_of
from sparkproof.usecases.ab.wish import AbWish, plan_in, read_tasks, refuse_arms
from sparkproof.usecases.keep import keep
from sparkproof.usecases.live import Session


def ab(
    arms: Sequence[ArmRef],
    wish: AbWish,
    *,
    store: ReceiptStore | None = None,
    ports: Sequence[ServerPort] = (),
    say: Say = lambda _: None,
) -> Report[AbResult]:
    """Set each treatment against the control, the first of the arms.

    Args:
        ports: asked in place of the addresses.
        say: told how many prompts there are before any is asked, then how far it is.

    Raises:
        UsageError, UnreachableError, FormatError: it can't be done at all.
    """
    refuse_arms(arms, wish)
    if wish.scorer_command:
        refuse_scorer(wish.scorer_command)
    work = AbWork(arms, wish, say)
    try:
        asyncio.run(work.go(ports))
    except KeyboardInterrupt:
        if work.run is None:
            raise
        work.interrupted = True
    finally:
        work.close()
    result = with_identities(work.finished(), work.arms, wish.box)
    inputs = {"tasks": result.plan.tasks_digest}
    inputs |= {arm.name: digest(arm.snapshot) for arm in result.arms}
    return keep(report_ab(attribute(derive(result))), store, inputs)


class AbWork:
    """The run with its arms; has, from the first look on, a result to be judged."""

    def __init__(self, arms: Sequence[ArmRef], wish: AbWish, say: Say) -> None:
        self.arms = [*arms, *arms[:1]] if wish.aa and len(arms) == 1 else list(arms)
        self._wish = wish
        self._say = say
        self._names = ["control", *_treatments(len(self.arms) - 1)]
        self._one_url = any(arm.restart for arm in arms)
        self._tasks: tuple[Task, ...] = ()
        self._seen: list[AbArm] = []
        self._journal: Journal | None = None
        self._refusals: tuple[tuple[str, str], ...] = ()
        self.run: AbRun | None = None
        self.interrupted = False

    async def go(self, given: Sequence[ServerPort]) -> None:
        """Everything, in order."""
        async with _open([arm.address for arm in self.arms], given) as ports:
            vital = Vital(ports, self.arms, self._wish.last_words_s)
            if self._one_url:
                await self._in_turn(ports, vital)
            else:
                await self._interleaved(ports, vital)

    async def _interleaved(self, ports: list[ServerPort], vital: Vital) -> None:
        for port, name in zip(ports, self._names, strict=True):
            self._seen.append(await look_at(port, name, self._wish.model))
        for port, arm in zip(ports[1:], self._seen[1:], strict=True):
            if not self._wish.aa:
                await refuse_same(ports[0], self._seen[0], port, arm)
        await self._prepare(ports[0])
        if not self._may_go_on(self._seen[1:]):
            return
        run = self._ready()
        for number, port in enumerate(ports):
            await run.warm_up(port, number, self._seen[number].model)
            await self._look(vital, number)
        await run.noise(ports[0], self._seen[0].model)
        for number, batch, place in order_of(run.plan):
            if 0 in run.dead or len(run.dead) == len(ports) - 1:
                break
            await run.round(ports[place], self._seen[place].model, place, batch, number)
            if run.faults[place]:
                await self._look(vital, place, batch)
        for place in range(len(ports)):
            await self._look(vital, place)

    async def _in_turn(self, ports: list[ServerPort], vital: Vital) -> None:
        """One arm after the other; each is brought up, asked everything, and taken down."""
        for number, port in enumerate(ports):
            self._say(f"bringing up the {self._names[number]}")
            command = self.arms[number].restart
            async with brought_up(port, command, self._wish.wait_s) as process:
                self._seen.append(await look_at(port, self._names[number], self._wish.model))
                if number == 0:
                    await self._prepare(port)
                elif not self._may_go_on(self._seen[number:]) or 0 in self._ready().dead:
                    continue
                await self._whole_arm(vital, port, number, process)

    async def _look(
        self, vital: Vital, number: int, batch: int = 0, process: Restart | None = None
    ) -> None:
        """Whether an arm lives, after it was asked at a batch size or at none."""
        run = self._ready()
        cells = run.plan.cells
        cell = next((n for n, cell in enumerate(cells) if cell.batch == batch), -1)
        await vital.look(run, self._seen, number, cell=cell, process=process)

    async def _whole_arm(
        self, vital: Vital, port: ServerPort, number: int, process: Restart
    ) -> None:
        run, model = self._ready(), self._seen[number].model
        await run.warm_up(port, number, model)
        if number == 0:
            await run.noise(port, model)
        for at, batch, arm in order_of(run.plan):
            if arm == number:
                await run.round(port, model, arm, batch, at)
                if run.faults[arm]:
                    await self._look(vital, number, batch, process)
        await self._look(vital, number, process=process)

    def _ready(self) -> AbRun:
        assert self.run is not None
        return self.run

    def _may_go_on(self, treatments: Sequence[AbArm]) -> bool:
        found = [r for arm in treatments for r in refusals(self._seen[0], arm, self._wish.differ)]
        self._refusals = (*self._refusals, *found)
        return not found

    async def _prepare(self, control: ServerPort) -> None:
        """Tasks that the control can be asked, the plan, and the journal."""
        wish = self._wish
        alpha = alpha_of(len(wish.cells), len(self.arms) - 1)
        count = wish.prompts or wanted_prompts(wish.detect, wish.power, alpha, wish.differ)
        self._tasks = (
            read_tasks(wish)[: wish.prompts or None]
            if wish.tasks
            else await self._askable(control, count)
        )
        self._journal = self._open_journal(self._plan())
        plan = msgspec.json.decode(self._journal.head.plan, type=AbPlan)
        self.run = AbRun(plan, self._tasks, self._journal, timeout_s=wish.timeout_s, say=self._say)
        self._say(plan_words(plan))
        if self.run.resumed_after:
            self._say(f"going on after {self.run.resumed_after} answers")

    async def _askable(self, port: ServerPort, count: int) -> tuple[Task, ...]:
        """The bundled tasks without what the server refuses: chats, tools, too long ones."""
        control = self._seen[0]
        sample = bundled_tasks(24)
        chat = next(t for t in sample if t.messages and not t.tools)
        tools = next(t for t in sample if t.tools)
        takes = []
        for task in (chat, tools):
            ask = ab_ask(task, control.model, secrets.token_hex(4), self._wish.timeout_s)
            takes.append((await port.send(ask)).status != 400)
        text = "".join(map(prompt_text, sample))
        tokens = await Session(port).count_tokens(control.model, text) or len(text)
        fits = fitting(control, tokens / len(text))
        form = Form.MIXED if takes[0] else Form.RAW
        found = [
            task
            for task in bundled_tasks(2 * count + 24, form=form)
            if (takes[1] or not task.tools) and fits(task)
        ]
        if not found:
            raise UsageError(
                f"no bundled task fits into the {control.name}'s length",
                hint="--tasks FILE.jsonl brings shorter ones",
            )
        if not takes[1]:
            self._say("no tool calls are asked for: the control refuses them")
        return tuple(found[:count])

    def _plan(self) -> AbPlan:
        wish, prompts = self._wish, len(self._tasks)
        return AbPlan(
            arms=tuple(self._names),
            model=wish.model,
            task_set=Path(wish.tasks).name if wish.tasks else TASK_SET,
            tasks_digest=set_digest(self._tasks),
            prompts=prompts,
            noise_prompts=noise_prompts(prompts),
            cells=wish.cells,
            rounds=min(wish.rounds, prompts),
            detect=wish.detect,
            power=wish.power,
            alpha=ALPHA,
            speed=wish.speed,
            aa=wish.aa,
            one_url=self._one_url,
            differ=wish.differ,
            nonce=secrets.token_hex(6),
        )

    def _open_journal(self, plan: AbPlan) -> Journal:
        folder = self._wish.records or records_folder()
        if not self._wish.resume:
            return Journal.create(folder, "ab", plan)
        path = find_journal(folder, "ab", self._wish.resume)
        old = plan_in(path)
        if msgspec.structs.replace(plan, nonce=old.nonce) != old:
            raise UsageError(
                f"{path.name} was begun with another plan",
                hint="go on with the arguments that it was begun with",
            )
        return Journal.resume(path, "ab")

    def close(self) -> None:
        """Let go of the journal."""
        if self._journal is not None:
            self._journal.close()

    def finished(self) -> AbResult:
        """The result as far as it came."""
        run, journal = self._ready(), self._journal
        assert journal is not None
        score = scorer_of(self._tasks, run.answers.all(), self._wish.scorer_command)
        return AbResult(
            plan=run.plan,
            arms=tuple(self._seen),
            refusals=self._refusals,
            passes=tuple(run.passes),
            pairs=make_pairs(run.plan, self._tasks, run.answers.get, score),
            deaths=tuple(run.deaths),
            records=journal.path.name,
            records_digest=_digest_of(journal.path),
            answered=sum(answer.ok for answer in run.answers.all()),
            resumed_after=run.resumed_after,
            interrupted=self.interrupted,
        )


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _treatments(count: int) -> list[str]:
    return ["treatment"] if count == 1 else [f"treatment {n + 1}" for n in range(count)]


@asynccontextmanager
async def _open(
    addresses: Sequence[str], given: Sequence[ServerPort]
) -> AsyncIterator[list[ServerPort]]:
    async with AsyncExitStack() as stack:
        ports: list[ServerPort] = list(given)
        for address in addresses[len(given) :]:
            server = Server(address, key=key_of())
            ports.append(await stack.enter_async_context(server))
        yield ports
