"""What the user wants to know of the arms of an A/B run, and what of it makes no comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sparkproof.adapters.files import read_file
from sparkproof.adapters.journal import read_head
from sparkproof.core.ab import Task
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.observations.ab_run import AbCell, AbPlan
from sparkproof.gates.ab import refuse_differences
from sparkproof.gates.ab_statistics import POWER
from sparkproof.gates.ab_task_file import parse_tasks
from sparkproof.usecases.ab.alive import LAST_WORDS_S
from sparkproof.usecases.ab.arms import ArmRef
from sparkproof.usecases.ab.scoring import OWN

_MAX_TASKS_BYTES = 256 << 20
_MAX_PROMPTS = 100_000


class AbWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user wants to know.

    Attributes:
        tasks: a file of their own tasks; "" for the bundled set.
        scorer_command: scores those of them that name no scorer.
        prompts: how many; 0 for as many as `detect` and `power` need.
        box: the machine both arms run on.
        wait_s: for a server that a command brings up.
        resume: a journal to go on with: its path, its name, or ``latest``.
        records: the folder of journals.
        last_words_s: that a dying server has before its log is read.
    """

    cells: tuple[AbCell, ...]
    model: str = ""
    tasks: str = ""
    scorer_command: str = ""
    detect: float = 0.01
    power: float = POWER
    prompts: int = 0
    rounds: int = 3
    speed: bool = True
    aa: bool = False
    differ: tuple[str, ...] = ()
    box: str = ""
    timeout_s: float = 600.0
    wait_s: float = 900.0
    resume: str = ""
    records: Path | None = None
    last_words_s: float = LAST_WORDS_S


def refuse_arms(arms: Sequence[ArmRef], wish: AbWish) -> None:
    """Raise where the arms make no comparison.

    Raises:
        UsageError: no treatment, commands for some arms only, rounds or prompts that are none.
    """
    refuse_differences(wish.differ)
    if wish.aa and len(arms) > 1 and len({arm.address for arm in arms}) > 2:
        raise UsageError(
            "--aa asks one server, or two that are the same", hint="leave out --aa or a server"
        )
    if len(arms) < 2 and not wish.aa:
        raise UsageError(
            "nothing to compare with: name a control and a treatment",
            hint="--aa asks one server twice",
        )
    commands = sum(bool(arm.restart) for arm in arms)
    if commands and commands != len(arms):
        raise UsageError(
            "either every arm has a command that brings it up, or none has",
            hint="--restart-control CMD --restart-treatment CMD",
        )
    if wish.timeout_s <= 0:
        raise UsageError("--timeout is above 0", hint="leave it out for the default")
    if wish.rounds < 1 or not 0 <= wish.prompts <= _MAX_PROMPTS:
        raise UsageError(
            f"rounds are at least 1, prompts at most {_MAX_PROMPTS}",
            hint="leave both out for the defaults",
        )


def plan_in(path: Path) -> AbPlan:
    """The plan that records were begun with.

    Raises:
        UsageError: they are another command's.
        FormatError: it is no plan of ours, or another version's.
    """
    head = read_head(path)
    if head.command != "ab":
        raise UsageError(
            f"{path.name} holds records of {head.command}, not of ab",
            hint=f"`sparkproof {head.command}` goes on with them",
        )
    try:
        return msgspec.json.decode(head.plan, type=AbPlan)
    except msgspec.DecodeError as error:
        raise FormatError(f"no plan of ab in it: {error}", where=path.name, line=1) from error


def read_tasks(wish: AbWish) -> tuple[Task, ...]:
    """The user's own tasks.

    Raises:
        FormatError, UnreachableError: no tasks in the file.
    """
    data = read_file(Path(wish.tasks), _MAX_TASKS_BYTES)
    own = OWN if wish.scorer_command else ""
    return parse_tasks(data.splitlines(), Path(wish.tasks).name, own_scorer=own)
