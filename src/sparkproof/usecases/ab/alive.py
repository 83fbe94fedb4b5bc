"""Did an arm die? Asked after every stretch in which answers failed, and in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sparkproof.adapters.log_tail import LogTail
from sparkproof.adapters.restart import Restart
from sparkproof.core.observations.ab_run import AbDeath
from sparkproof.core.results.ab import AbArm
from sparkproof.core.server_port import Ask, Reply, ServerPort
from sparkproof.gates.ab_death import death_words
from sparkproof.gates.soak_death import says_little
from sparkproof.usecases.ab.arms import ArmRef
from sparkproof.usecases.ab.run import AbRun
from sparkproof.usecases.log.cause import cause_in, tail_of

_HEALTH_S = 20.0
LAST_WORDS_S = 2.0
"""A dying server takes a moment to write down why."""


class Vital:
    """Looks after the arms of one run.

    Args:
        ports: in the order of the arms.
        arms: of which some have a log.
        last_words_s: waited before a log is read.

    Raises:
        UsageError, UnreachableError: there is no such log.
    """

    def __init__(
        self, ports: Sequence[ServerPort], arms: Sequence[ArmRef], last_words_s: float
    ) -> None:
        self._ports, self._arms, self._wait_s = ports, arms, last_words_s
        self._tails: list[LogTail | None] = [tail_of(arm.log) for arm in arms]

    async def look(
        self,
        run: AbRun,
        seen: Sequence[AbArm],
        number: int,
        *,
        cell: int = -1,
        process: Restart | None = None,
    ) -> None:
        """Write an arm's death down where there is proof of it: it answered before, it is shown
        to be gone, and the control is not.

        Args:
            seen: the arms as they were before.
            number: of the arm.
            cell: that was being asked; -1 for none.
            process: the server itself, where a command brought it up and stayed.
        """
        if number in {death.arm for death in run.deaths}:
            return
        health = await _health(self._ports[number])
        words = _ended(process) or death_words(health, run.faults[number])
        if not words or not (run.answered(number) or seen[number].snapshot.healthy == 200):
            return
        control = await self._control(run, number)
        if number and not control:
            return
        said, remedy = await self._last_words(number, process)
        death = AbDeath(
            arm=number,
            cell=cell,
            answered=run.answered(number),
            seen=words,
            control=control,
            said=said,
            remedy=remedy,
        )
        run.died(death)

    async def _control(self, run: AbRun, number: int) -> str:
        """What shows that the control is not dead, too; "" where nothing does."""
        if not number or 0 in run.dead:
            return ""
        if self._arms[number].restart:
            return "answered in its turn" if run.answered(0) and not run.faults[0] else ""
        health = await _health(self._ports[0])
        return "answers" if health.status == 200 else ""

    async def _last_words(self, number: int, process: Restart | None) -> tuple[str, str]:
        """The cause in the arm's log, or its first error; and what helps."""
        log = self._arms[number].log or (process.output if process else "")
        if not log:
            return "", ""
        await asyncio.sleep(self._wait_s)
        tail = self._tails[number]
        cause, saw = await asyncio.to_thread(cause_in, log, tail.line_at_start() if tail else 0)
        if cause is None:
            return "" if says_little(saw) else saw, ""
        return cause.title, "; ".join(" ".join(line.split()) for line in cause.remedy[:2])


def _ended(process: Restart | None) -> str:
    code = process.code if process is not None and process.stayed else None
    return "" if code is None else f"its process ended with {code}"


async def _health(port: ServerPort) -> Reply:
    return await port.send(Ask("health", "/health", timeout_s=_HEALTH_S))
