"""A user's own scorer that misbehaves: one error that names it, and nothing left behind."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from sparkproof.adapters.scorer_program import refuse_scorer, score_with
from sparkproof.adapters.server_process import look_at
from sparkproof.core.ab import Score, Task
from sparkproof.core.errors import FormatError, UnreachableError, UsageError

ANSWERS = [(Task(id=name, kind="own", prompt="x", max_tokens=4), "said") for name in ("a", "b")]


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_scores_come_in_the_order_of_the_answers() -> None:
    code = (
        "import sys, json\n"
        "for line in sys.stdin: print(json.dumps({'exact': json.loads(line)['id'] == 'a'}))"
    )
    assert score_with(python(code), ANSWERS, 60) == [Score(True), Score(False)]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while True: print('{' * 4096)", "writes more than scores"),
        ("raise SystemExit(3)", "failed at task a: exit 3"),
        ("pass", "failed at task a: no score"),
        ("print('{\"exact\": true}'); raise ValueError('mine')", "failed at task b: ValueError"),
        ("print('[' * 50000)", "gave no score for task a"),
        ("import os; os.write(1, os.urandom(999))", "gave no score for task a"),
        ("import os; os.kill(os.getpid(), 9)", "failed at task a: exit -9"),
    ],
)
def test_what_is_no_score_names_the_task(code: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        score_with(python(code), ANSWERS, 60)


def test_a_child_that_holds_the_pipes_open_ends_with_the_program(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"sleep 600 & echo $! > {shlex.quote(str(pid))}; exit 1"
    with pytest.raises(FormatError, match="exit 1"):
        score_with(shlex.join(["sh", "-c", code]), ANSWERS, 60)
    end = time.monotonic() + 30
    while (left := look_at(int(pid.read_text()))) and time.monotonic() < end:
        time.sleep(0.01)
    assert left is None


def test_one_that_hangs_is_ended() -> None:
    with pytest.raises(UnreachableError, match="took longer than"):
        score_with(python("import time; time.sleep(600)"), ANSWERS, 0.5)


def test_one_that_is_not_there_is_told_before_anything_is_asked() -> None:
    with pytest.raises(UnreachableError, match="no such program"):
        refuse_scorer("/nowhere/scorer --strict")
    with pytest.raises(UsageError, match="no command"):
        refuse_scorer('"')
