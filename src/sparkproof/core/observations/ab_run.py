"""An A/B run: what was planned, every answer, and how each stretch of it went."""

from __future__ import annotations

import msgspec

from sparkproof.core.observations.load_run import ClientHealth
from sparkproof.core.observations.server_snapshot import Window
from sparkproof.core.server_port import Failure


class AbCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to ask.

    Attributes:
        batch: requests in flight, closed loop.
        warm: the same prompts again, which the prefix cache may know.
    """

    batch: int
    warm: bool = False

    @property
    def name(self) -> str:
        """``8 at once, warm``."""
        return f"{self.batch} at once, {'warm' if self.warm else 'cold'}"


class AbPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked, of whom, how often.

    Attributes:
        task_set: name of the bundled set, or of the user's file.
        tasks_digest: of all tasks, in order.
        prompts: number of tasks; each is asked once in each cell of each arm.
        noise_prompts: of these, asked of the control a second time in the cold cells.
        rounds: the prompts are dealt out over so many rounds, the arms take turns in each.
        detect, power, alpha: the corruption to be seen, how surely, at which false-alarm rate.
        aa: the treatment is the control itself.
        one_url: the arms are brought up one after the other.
        differ: in what the arms are meant to differ, e.g. ``checkpoint``.
        nonce: begins every cache salt, so that no earlier run has warmed a prompt.
    """

    arms: tuple[str, ...]
    model: str
    task_set: str
    tasks_digest: str
    prompts: int
    noise_prompts: int
    cells: tuple[AbCell, ...]
    rounds: int
    detect: float
    power: float
    alpha: float
    speed: bool = True
    aa: bool = False
    one_url: bool = False
    differ: tuple[str, ...] = ()
    nonce: str = ""

    def round_of(self, task: int) -> int:
        """In which round a task is asked: neighbours in different ones, so that kinds spread."""
        return task % self.rounds

    def noise_tasks(self) -> tuple[int, ...]:
        """Which tasks the control is asked twice: spread over all of them."""
        return tuple(n * self.prompts // self.noise_prompts for n in range(self.noise_prompts))


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One generated token: its id, its log-probability, and the likeliest ids with theirs.

    Attributes:
        nats: None where the server gave none, like `top`, which is empty then.
    """

    id: int
    nats: float | None = None
    top: tuple[tuple[int, float], ...] = ()


class AbAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="answer"):
    """One request of an arm and what came back.

    Attributes:
        arm: 0 for the control.
        cell: index into the plan's cells.
        task: index into the tasks.
        again: the control's second time, for its noise.
        text: of the answer; of a chat without what it thought.
        calls: (name, arguments as JSON text) of each tool call.
        tokens: empty where the server gives no ids.
        completion_tokens: the server's count, -1 without one.
        ttft_s, decode_tokens_per_s: None where they can't be told.
        sent_s, ended_s: since the pass began.
    """

    arm: int
    cell: int
    task: int
    again: bool = False
    status: int = 0
    failure: Failure = Failure.NONE
    detail: str = ""
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = ""
    tokens: tuple[Token, ...] = ()
    completion_tokens: int = -1
    ttft_s: float | None = None
    decode_tokens_per_s: float | None = None
    sent_s: float = 0.0
    ended_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whole, with status 200."""
        return self.status == 200 and not self.failure

    @property
    def key(self) -> tuple[int, int, int, bool]:
        """What makes it this request and no other."""
        return self.arm, self.cell, self.task, self.again


class AbPass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="pass"):
    """One stretch: one arm, one cell, one round.

    Attributes:
        partial: a resumed run asked only what was missing, so its speed is none.
        asked, failed: requests.
        fault: what the first of the failed ones came to.
        ttft_s, decode_tokens_per_s: medians over its requests.
        output_tokens_per_s: of all streams together.
        start_s: when the process that answered had started, by its metrics.
    """

    arm: int
    cell: int
    round: int
    started_at: str
    health: ClientHealth
    again: bool = False
    partial: bool = False
    asked: int = 0
    failed: int = 0
    fault: str = ""
    window: Window | None = None
    start_s: float | None = None
    ttft_s: float | None = None
    decode_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None


class AbDeath(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="death"):
    """A server that answered before and is shown to be gone.

    Attributes:
        arm: 0 for the control.
        cell: index into the plan's cells, what was asked when it was noticed; -1 for the first
            look at the arms, and for the last.
        answered: whole answers that it had given by then.
        seen: what shows it.
        control: what the control did at that moment; "" where it is the control's own death.
        said: the cause that its log names, or its first error; "" without a log.
        remedy: the log's, "" for none.
    """

    arm: int
    cell: int = -1
    answered: int = 0
    seen: str = ""
    control: str = ""
    said: str = ""
    remedy: str = ""


AbRecord = AbAnswer | AbPass | AbDeath
