"""Exit codes, streams and documents of the installed command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]

SEAL = """
from sparkproof.adapters.store import ReceiptStore, default_folder
from sparkproof.core.report import Report
from sparkproof.core.verdict import Verdict
from sparkproof.receipts.receipt import seal
report = Report(schema="sparkproof/prove/1", command="prove", tool_version="0",
                generated_at="2026-11-29T12:00:00Z", verdict=Verdict.PASS, summary="runs")
_, path = ReceiptStore(default_folder()).append(
    lambda previous: seal(report, inputs={}, previous=previous))
"""
EDIT = SEAL + "path.write_bytes(path.read_bytes().replace(b'runs', b'ruin'))\n"
TRUNCATE = SEAL + "path.write_bytes(path.read_bytes()[:40])\n"
ENDING = """
from sparkproof.usecases.explain import command as explain
from sparkproof.core.report import Report
from sparkproof.core.results.explain import Explanation
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.envelope import make_report
def explain_it(topic):
    {body}
explain.explain = explain_it
"""
INCONCLUSIVE = ENDING.format(
    body="return make_report('explain', Explanation('x', ()), summary='unsure',"
    " verdict=Verdict.INCONCLUSIVE)"
)
BUG = ENDING.format(body="raise LookupError('oops, token=hunter2hunter2')")
INTERRUPT = ENDING.format(body="import os, signal; os.kill(os.getpid(), signal.SIGINT)")


def document(result: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    ("exit_code", "code", "arguments"),
    [
        (0, "", ("explain", "gb10")),
        (0, "", ("explain", "JIT", "at", "first", "request")),
        (0, SEAL, ("receipt", "verify")),
        (1, EDIT, ("receipt", "verify")),
        (1, EDIT, ("receipt", "show")),
        (1, TRUNCATE, ("receipt", "verify")),
        (2, "", ("explain", "no such topic")),
        (2, "", ("receipt", "show", "7")),
        (2, "", ("frobnicate",)),
        (3, INCONCLUSIVE, ("explain", "x")),
        (4, TRUNCATE, ("receipt", "show")),
        (70, BUG, ("explain", "x")),
        (130, INTERRUPT, ("explain", "x")),
    ],
)
def test_every_exit_code_as_text_and_as_one_document(
    run: Run, exit_code: int, code: str, arguments: tuple[str, ...]
) -> None:
    text = run(*arguments, code=code)
    assert text.returncode == exit_code, text.stderr
    told = run(*arguments, "--json", code=code)
    assert told.returncode == exit_code, told.stderr
    answer = document(told)
    if exit_code in (0, 1, 3):
        assert text.stderr == told.stderr == b""
        assert answer["error"] is None
        assert answer["verdict"] == {0: "pass", 1: "fail", 3: "inconclusive"}[exit_code]
    else:
        assert text.stdout == b""
        assert b"error: " in text.stderr
        assert (answer["verdict"], answer["result"]) == ("error", None)
        assert answer["summary"] == answer["error"]["message"]
    assert answer["schema"].startswith("sparkproof/")


def test_a_bug_shows_its_traceback_on_stderr_and_no_secret_in_the_document(run: Run) -> None:
    result = run("explain", "x", "--json", code=BUG)
    assert b"Traceback" in result.stderr
    assert b"hunter2" not in result.stdout
    assert document(result)["error"]["code"] == "bug"
    assert "report it" in document(result)["error"]["hint"]


def test_an_interrupt_is_one_line(run: Run) -> None:
    result = run("explain", "x", code=INTERRUPT)
    assert result.stderr.decode().split() == ["error:", "interrupted"]


def test_no_command_shows_the_help_and_is_wrong_use(run: Run) -> None:
    for arguments in ((), ("receipt",)):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (2, b"")
        assert result.stderr.startswith(b"Usage: sparkproof")


def test_help_and_version_are_answers(run: Run) -> None:
    for arguments in (("--help",), ("-h",), ("explain", "--help"), ("receipt", "show", "-h")):
        result = run(*arguments)
        assert (result.returncode, result.stderr) == (0, b"")
        assert result.stdout.startswith(b"Usage: sparkproof")
    assert run("--version").stdout.startswith(b"sparkproof ")


def test_what_follows_the_double_dash_is_not_ours(run: Run) -> None:
    result = run("explain", "no-such", "--", "--json")
    assert result.stdout == b""


@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_reader_that_leaves_changes_no_verdict(
    environment: dict[str, str], verdict: str, option: list[str]
) -> None:
    body = (
        "return make_report('explain', Explanation('x', ()), summary='x' * 10**6,"
        f" verdict=Verdict.{verdict})"
    )
    code = ENDING.format(body=body) + "from sparkproof.cli.main import main\nmain()"
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(
        [sys.executable, "-c", code, "explain", "x", *option],
        env=environment,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(write)
    assert (result.returncode, result.stderr) == ({"PASS": 0, "FAIL": 1}[verdict], b"")


def test_a_reader_that_leaves_during_help_is_no_failure(environment: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    script = Path(sys.executable).with_name("sparkproof")
    result = subprocess.run(
        [script, "--help"],
        env=environment,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(write)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1"])
def test_the_document_is_utf8_in_any_locale(run: Run, locale: str) -> None:
    env = {"LC_ALL": locale, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    code = ENDING.format(
        body="return make_report('explain', Explanation(topic, ()),"
        " summary='\\u00fcn\\u00efcode \\u2026',"
        " verdict=Verdict.PASS)"
    )
    assert document(run("explain", "x", "--json", code=code, env=env))["summary"] == "ünïcode …"
    text = run("explain", "x", code=code, env=env)
    assert (text.returncode, text.stderr) == (0, b"")


def test_arguments_that_are_no_utf8_are_told_as_escapes(run: Run) -> None:
    result = run("explain", b"a\xff\x1b[2J", "--json")
    assert result.returncode == 2
    assert "a\\udcff" in document(result)["summary"]
    assert b"\x1b" not in result.stderr


def test_no_colour_off_a_terminal(run: Run) -> None:
    assert b"\x1b" not in run("explain", "gb10").stdout


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_on_a_terminal_unless_refused(
    environment: dict[str, str], env: dict[str, str], coloured: bool
) -> None:
    master, slave = os.openpty()
    script = Path(sys.executable).with_name("sparkproof")
    whole = {**environment, "TERM": "xterm", **env}
    whole.pop("NO_COLOR") if "NO_COLOR" not in env and "NO_COLOR" in whole else None
    process = subprocess.Popen(
        [script, "explain", "gb10"], env=whole, stdout=slave, stderr=subprocess.DEVNULL
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    assert process.wait(60) == 0
    assert (b"\x1b[" in seen) is coloured
    assert b"GB10" in seen


def test_a_store_that_cannot_be_listed_is_not_an_empty_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    env = {"SPARKPROOF_DATA": str(tmp_path / "file")}
    for verb in ("list", "verify"):
        result = run("receipt", verb, "--json", env=env)
        assert result.returncode == 4
        assert "can't" in document(result)["summary"]
        assert document(result)["schema"] == f"sparkproof/receipt-{verb}/1"
    assert run("receipt", "verify", "--store", str(tmp_path / "gone")).returncode == 2


@pytest.mark.parametrize("trouble", ["full", "read-only", "no folder"])
def test_a_receipt_that_cannot_be_written_is_said_in_one_line(
    run: Run, tmp_path: Path, trouble: str
) -> None:
    if trouble == "read-only" and os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    code = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
    body = "\n    ".join(SEAL.strip().splitlines())
    data = tmp_path / "data"
    if trouble == "no folder":
        data.write_text("")
    elif trouble == "read-only":
        data.mkdir(mode=0o500)
    result = run(
        "explain", "x", "--json", code=code * (trouble == "full") + ENDING.format(body=body)
    )
    answer = document(result)
    assert (result.returncode, answer["error"]["code"]) == (4, "unreachable")
    assert "can't write a receipt" in answer["summary"]
    assert "SPARKPROOF_DATA" in answer["error"]["hint"]
    assert len(result.stderr.splitlines()) == 2
    assert not [p for p in data.rglob("*") if p.is_file() and p.name != ".lock"]


def test_a_noted_head_shows_a_replaced_chain(run: Run) -> None:
    run("receipt", "list", code=SEAL)
    head = document(run("receipt", "list", "--json"))["result"]["head"]
    assert run("receipt", "verify", "--head", head).returncode == 0
    assert run("receipt", "verify", "--head", head.removeprefix("sha256:")).returncode == 0
    other = run("receipt", "verify", "--head", "sha256:" + "0" * 64)
    assert other.returncode == 1
    assert b"receipt/head-missing" in other.stdout
    assert run("receipt", "verify", "--head", "abc").returncode == 2
    assert run("receipt", "verify", "1", "--head", head).returncode == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_and_answers(run: Run, shell: str) -> None:
    assert b"_SPARKPROOF_COMPLETE" in run("completion", shell).stdout
    env = {
        "_SPARKPROOF_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "sparkproof explain gb",
        "COMP_CWORD": "2" if shell != "fish" else "gb",
    }
    assert b"gb10" in run(env=env).stdout
    for words, place, told in (("prove --device gb", 3, "gb10"), ("receipt show la", 3, "latest")):
        env["COMP_WORDS"] = f"sparkproof {words}"
        env["COMP_CWORD"] = str(place) if shell != "fish" else words[-2:]
        assert told.encode() in run(env=env).stdout


def test_a_message_quotes_no_more_than_a_screen_holds(run: Run) -> None:
    result = run("explain", "x" * 9000, "--json")
    assert result.returncode == 2
    assert len(document(result)["error"]["message"]) == 800


def test_a_lone_value_is_not_repeated(run: Run) -> None:
    for value, shown in (("GLUED4ccess", False), ("NAME", True)):
        result = run("prove", "x", "--env", value, "--json")
        assert result.returncode == 2
        assert "NAME=VALUE" in document(result)["summary"]
        assert (f"`{value}`" in document(result)["summary"]) is shown
