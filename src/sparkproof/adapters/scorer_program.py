"""A user's own scorer: a program that reads answers and writes scores, one JSON object a line.

In: ``{"id": …, "kind": …, "expected": …, "text": …}``. Out, in the same order:
``{"exact": true, "detail": ""}``. It runs once, without a shell, when all answers are in.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence

import msgspec

from sparkproof.adapters.child import Done, run_bounded
from sparkproof.adapters.restart import words_of
from sparkproof.core.ab import Score, Task
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.redaction import redact_text

_LAST = 300
_LINE_BYTES = 16 << 10
_SAID_BYTES = 64 << 10
_HINT = "the answers are kept: mend the scorer, then go on with --resume latest"


def refuse_scorer(command: str) -> None:
    """Raise where there is no such program, before hours go into the answers that it is to score.

    Raises:
        UsageError: no command.
        UnreachableError: no such program, or none that may be run.
    """
    words = words_of(command)
    if shutil.which(words[0]) is None:
        raise UnreachableError(
            f"can't run scorer `{redact_text(words[0])}`: no such program",
            hint="the command runs without a shell; `sh -c '…'` gives it one",
        )


def score_with(command: str, answers: Sequence[tuple[Task, str]], timeout_s: float) -> list[Score]:
    """The score of each answer.

    Raises:
        UnreachableError: there is no such program, or it takes too long.
        FormatError: it failed, or wrote something else; the message names the task.
    """
    words = words_of(command)
    name = redact_text(words[0])
    rows = [
        msgspec.json.encode({"id": t.id, "kind": t.kind, "expected": t.expected, "text": text})
        for t, text in answers
    ]
    limit = _SAID_BYTES + _LINE_BYTES * len(rows)
    try:
        with tempfile.TemporaryFile() as questions:
            questions.write(b"\n".join(rows) + b"\n")
            questions.seek(0)
            done = run_bounded(words, limit_bytes=limit, timeout_s=timeout_s, stdin=questions)
    except OSError as error:
        raise UnreachableError(
            f"can't run scorer `{name}`: {error.strerror or error}", hint=_HINT
        ) from error
    if done.over:
        raise FormatError(f"scorer `{name}` writes more than scores", hint=_HINT)
    if done.late:
        raise UnreachableError(f"scorer `{name}` took longer than {timeout_s:g} s", hint=_HINT)
    return _scores(name, answers, done)


def _scores(name: str, answers: Sequence[tuple[Task, str]], done: Done) -> list[Score]:
    scores: list[Score] = []
    for (task, _), line in zip(answers, done.out.splitlines(), strict=False):
        try:
            scores.append(msgspec.json.decode(line, type=Score))
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"scorer `{name}` gave no score for task {task.id}: {error}"
            raise FormatError(message, hint=_HINT) from error
    if done.code or len(scores) < len(answers):
        task = answers[min(len(scores), len(answers) - 1)][0]
        said = redact_text(done.last.decode("utf-8", "replace").strip()[-_LAST:])
        silent = f"exit {done.code}" if done.code else "no score, though it says that all is well"
        last = said.splitlines()[-1] if said else silent
        raise FormatError(f"scorer `{name}` failed at task {task.id}: {last}", hint=_HINT)
    return scores
