"""Other programs: what they may write and take, and that nothing of them is left."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from tests.contract.ab_arms import CONTROL, arm, outcome, run

from sparkproof.adapters.child import OutputFile, run_bounded
from sparkproof.adapters.pattern_child import search_all
from sparkproof.adapters.pip import run_pip
from sparkproof.adapters.server_process import look_at
from sparkproof.core.errors import UnreachableError
from sparkproof.core.results.ab import AbOutcome


def test_a_program_that_writes_or_waits_without_end_is_ended() -> None:
    flood = run_bounded(
        [sys.executable, "-c", "while True: print('x' * 999)"], limit_bytes=5000, timeout_s=60
    )
    assert (flood.over, flood.late, len(flood.out) <= 5000) == (True, False, True)
    asleep = run_bounded(["sleep", "600"], limit_bytes=10, timeout_s=0.1)
    assert (asleep.late, asleep.code) == (True, -9)
    fine = run_bounded(["sh", "-c", "echo out; echo err >&2; exit 3"], limit_bytes=10, timeout_s=60)
    assert (fine.code, fine.out, fine.last) == (3, b"out\n", b"err\n")


def test_what_a_program_leaves_behind_is_ended_with_it() -> None:
    left = run_bounded(
        ["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], limit_bytes=99, timeout_s=60
    )
    end = time.monotonic() + 60
    while (there := look_at(int(left.out))) and time.monotonic() < end:
        time.sleep(0.05)  # it has been ended; when it is gone is up to the machine
    assert there is None


def test_what_a_server_says_for_hours_is_kept_to_its_end() -> None:
    said = OutputFile("sparkproof-test-", limit_bytes=1000)
    with said.open() as out:
        for n in range(200):
            out.write(b"line %03d\n" % n)
            out.flush()
            said.cut()
    assert said.path.stat().st_size <= 1000
    assert said.last(18) == b"line 198\nline 199\n"
    said.forget()
    assert not said.path.exists()


def test_a_pattern_that_tries_every_way_is_given_up() -> None:
    rows = [(r"\bLima\b", "it is Lima."), (r"(a+)+$", "a" * 60 + "!"), ("x", "y")]
    assert search_all(rows, 600) == [True, None, False]


@pytest.mark.parametrize("path", ["", os.pathsep])
def test_no_module_of_the_current_folder_runs_in_place_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('not ours')")
    (tmp_path / "pip.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", path + os.environ.get("PYTHONPATH", ""))
    assert search_all([("x", "x")], 600) == [True]
    assert run_pip(["--version"], 600).stdout.startswith("pip ")


def test_a_search_that_fails_says_what_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise ImportError('broken here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(UnreachableError, match="failed: ImportError: broken here") as caught:
        search_all([("x", "x")], 600)
    assert "plainer" not in caught.value.hint


def test_answers_are_scored_by_patterns(tmp_path: Path) -> None:
    lines = [
        f'{{"id": "{n}", "prompt": "Count from {n}:\\n", "expected": "{n + 1}", '
        '"scorer": "regex", "max_tokens": 8}'
        for n in range(12)
    ]
    tasks = tmp_path / "own.jsonl"
    tasks.write_text("\n".join(lines))
    report = run(tmp_path, arm(CONTROL), arm(started=5), tasks=str(tasks), prompts=0)
    assert outcome(report) is not AbOutcome.CORRUPTS
    assert report.result is not None
    (row,) = report.result.treatments[0].accuracy
    assert row.scored == 24
    assert row.control == row.treatment > 0
