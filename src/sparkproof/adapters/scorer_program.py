"""A user's own scorer: a program that reads answers and writes scores, one JSON object a line.

In: ``{"id": …, "kind": …, "expected": …, "text": …}``. Out, in the same order:
``{"exact": true, "detail": ""}``. It runs once, without a shell, when all answers are in.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import msgspec

from sparkproof.adapters.restart import words_of
from sparkproof.core.ab import Score, Task
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.redaction import redact_text

_LAST = 300


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
    try:
        done = subprocess.run(  # noqa: S603 - the user's own program
            words,
            input=b"\n".join(rows) + b"\n",
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise UnreachableError(f"can't run scorer `{name}`: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(f"scorer `{name}` took longer than {timeout_s:g} s") from error
    return _scores(name, answers, done)


def _scores(
    name: str,
    answers: Sequence[tuple[Task, str]],
    done: subprocess.CompletedProcess[bytes],
) -> list[Score]:
    lines = done.stdout.splitlines()
    scores: list[Score] = []
    for (task, _), line in zip(answers, lines, strict=False):
        try:
            scores.append(msgspec.json.decode(line, type=Score))
        except msgspec.DecodeError as error:
            message = f"scorer `{name}` gave no score for task {task.id}: {error}"
            raise FormatError(message, hint=_HINT) from error
    if done.returncode or len(scores) < len(answers):
        task = answers[min(len(scores), len(answers) - 1)][0]
        said = redact_text(done.stderr.decode("utf-8", "replace").strip()[-_LAST:])
        last = said.splitlines()[-1] if said else f"exit {done.returncode}"
        raise FormatError(f"scorer `{name}` failed at task {task.id}: {last}", hint=_HINT)
    return scores


_HINT = "the answers are kept: mend the scorer, then go on with --resume latest"
