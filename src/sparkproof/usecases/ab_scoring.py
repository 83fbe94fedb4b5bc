"""Scores of all answers: by the named scorers, or by the user's own program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sparkproof.adapters.scorer_program import score_with
from sparkproof.core.ab import Score, Task
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.ab_run import AbAnswer
from sparkproof.gates.ab_pairs import ScoreOf, scored_text
from sparkproof.gates.ab_scorers import SCORERS

OWN = "own"
"""The scorer of tasks that name none, where a program is given."""
_SCORING_S = 600.0


def scorer_of(tasks: Sequence[Task], answers: Iterable[AbAnswer], command: str) -> ScoreOf:
    """A function that scores an answer; the program has been run by then.

    Raises:
        FormatError, UnreachableError: the program failed; the message names the task.
    """
    own: dict[tuple[str, str], Score] = {}
    wanted = dict.fromkeys(
        (tasks[a.task], scored_text(tasks[a.task], a))
        for a in answers
        if a.ok and tasks[a.task].scorer == OWN
    )
    if command and wanted:
        scores = score_with(command, list(wanted), _SCORING_S)
        own = {(t.id, text): s for (t, text), s in zip(wanted, scores, strict=True)}

    def score(task: Task, text: str) -> Score:
        if task.scorer == OWN:
            return own[task.id, text]
        try:
            return SCORERS[task.scorer](text, task.expected)
        except (FormatError, ValueError, RecursionError, re.error) as error:
            message = f"scorer `{task.scorer}` failed at task {task.id}: {error}"
            raise FormatError(message) from error

    return score
