"""The soak as installed, against the stand-in on a loopback socket: deaths, breaks, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import SCRIPT, Run

from sparkproof.testing.openai_server import LineFaults, OpenAIServer
from sparkproof.testing.stand_in import StandIn
from sparkproof.testing.stand_in_answer import Behaviour

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]
QUICK = {"ttft_s": 0.001, "interval_s": 0.0001}
SHORT = ("--longest", "256", "--concurrency", "4")


def serve(faults: LineFaults | None = None, **behaviour: Any) -> OpenAIServer:
    standing = StandIn(Behaviour(**{**QUICK, **behaviour}))
    return OpenAIServer(standing, faults or LineFaults())


def answer(run: Run, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = run(*arguments, "--json")
    return done.returncode, json.loads(done.stdout)


def rules(report: dict[str, Any]) -> set[str]:
    return {finding["rule"] for finding in report["findings"]}


def records(tmp_path: Path) -> list[dict[str, Any]]:
    (path,) = (tmp_path / "data" / "records").glob("soak-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def numbers(tmp_path: Path) -> list[int]:
    return sorted(r["n"] for r in records(tmp_path) if r["type"] == "request")


def test_a_pass_says_what_was_exercised(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with serve(drafts=True, preemptions=1) as server:
        code, report = answer(
            run,
            *("soak", server.url, "--requests", "60", "--shared-prefix", "0.5", *SHORT),
            *("--tools", "--reasoning", "--html", str(page)),
        )
    assert code == 0
    seen = report["result"]["pressure"]
    assert seen["preemptions"] > 0
    assert seen["prefix_hits"] > 0
    assert seen["drafted"] > seen["accepted"] > 0
    kinds = {kind["kind"] for kind in report["result"]["kinds"]}
    assert kinds == {"raw", "answer", "thinking", "tools", "probe"}
    assert numbers(tmp_path) == list(range(60))
    assert run("receipt", "verify").returncode == 0
    assert "preemptions" in page.read_text()


def test_without_preemption_the_pass_says_so(run: Run) -> None:
    with serve() as server:
        done = run("soak", server.url, "--requests", "30", *SHORT)
    assert done.returncode == 0
    assert b"no preemptions" in done.stdout
    assert b"[soak/no-preemption]" in done.stdout
    assert b"--resume latest" in done.stderr


def test_an_engine_that_dies_is_named_and_survived(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("INFO an old line\nERROR an old error\n")
    with serve(dies_after=40) as server:
        code, report = answer(
            run, "soak", server.url, "--requests", "400", *SHORT, "--log", str(log)
        )
    assert code == 1
    assert report["summary"].startswith("engine dead at request 4")
    assert {"soak/engine-dead", "soak/failed-requests"} <= rules(report)
    assert report["result"]["sessions"][-1]["ending"] == "gone"
    assert report["result"]["log"]["errors"] == 0  # the old one is not ours
    assert len(numbers(tmp_path)) == report["result"]["requests"] < 60
    assert report["receipt"]


@pytest.mark.parametrize(
    ("behaviour", "faults", "rule"),
    [
        ({"restarts_after": 30}, {}, "soak/restarted"),
        ({"status": 503}, {}, "soak/stuck"),
        ({}, {"drop_after": 3}, "soak/stuck"),
        ({"tool_parser": "missing"}, {}, "soak/not-taken"),
        ({"garbage": "one-token"}, {}, "soak/not-text-alone"),
        ({"extra_traffic": 2}, {}, "soak/loaded"),
    ],
)
def test_what_is_wrong_has_its_rule(
    run: Run, behaviour: dict[str, Any], faults: dict[str, Any], rule: str
) -> None:
    with serve(LineFaults(**faults), **behaviour) as server:
        code, report = answer(run, "soak", server.url, "--requests", "60", "--tools", *SHORT)
    assert rule in rules(report)
    assert code == {"soak/not-taken": 0, "soak/loaded": 0, "soak/not-text-alone": 3}.get(rule, 1)


@pytest.mark.parametrize("flag", ["--requests", "--longest", "--concurrency"])
def test_nothing_is_not_the_usual(run: Run, flag: str) -> None:
    refused = run("soak", "http://127.0.0.1:1", flag, "0")
    assert refused.returncode == 2
    assert flag.encode() in refused.stderr


def test_others_are_not_pushed_aside_unless_somebody_says_so(run: Run) -> None:
    with serve(extra_traffic=1, preemptions=1) as server:
        refused = run("soak", server.url, "--preempt", "--requests", "40")
        code, report = answer(run, "soak", server.url, "--preempt", "--requests", "40", "--yes")
    assert refused.returncode == 2
    assert b"other traffic" in refused.stderr
    assert code == 0
    assert report["result"]["loaded"]


def test_preemption_that_did_not_come_is_inconclusive(run: Run) -> None:
    with serve() as server:
        code, report = answer(run, "soak", server.url, "--preempt", "--requests", "40")
    assert code == 3
    assert rules(report) >= {"soak/no-preemption"}
    plan = report["result"]["plan"]
    longest = plan["prompt_low"] + plan["output_low"]
    assert plan["concurrency"] * longest > plan["pool_tokens"] == 65_536


def begin(environment: dict[str, str], tmp_path: Path, url: str) -> subprocess.Popen[bytes]:
    """A soak that has some records."""
    process = subprocess.Popen(
        [str(SCRIPT), "soak", url, "--requests", "300", *SHORT, "--json"],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    _until(lambda: _lines(tmp_path) > 30)
    return process


def _lines(tmp_path: Path) -> int:
    files = (tmp_path / "data" / "records").glob("soak-*.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in files)


def _until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 100
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_soak_that_was_killed_goes_on(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    with serve(ttft_s=0.05) as server:
        process = begin(environment, tmp_path, server.url)
        process.kill()
        process.communicate()
        before = numbers(tmp_path)
        code, report = answer(run, "soak", server.url, "--resume", "latest")
    assert code == 0
    assert len(before) < 300
    assert numbers(tmp_path) == list(range(300))  # each once
    first, second = report["result"]["sessions"]
    assert (first["ending"], second["ending"]) == ("killed", "done")
    assert second["done"] == len(before)
    assert not second["anew"]


def test_ctrl_c_keeps_the_records_and_a_receipt_goes_on(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    with serve(ttft_s=0.05) as server:
        process = begin(environment, tmp_path, server.url)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        report = json.loads(out)
        assert process.returncode == 130
        assert report["result"]["interrupted"]
        server.stand_in.started += 60  # the server was started anew meanwhile
        code, later = answer(run, "soak", server.url, "--resume", report["receipt"][7:19])
    assert code == 0
    assert numbers(tmp_path) == list(range(300))
    assert later["result"]["sessions"][1]["anew"]
    assert "soak/started-anew" in rules(later)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--requests", "3", "--duration", "5s"), 2, b"at once"),
        (("--duration", "soon"), 2, b"no stretch of time"),
        (("--resume", "latest"), 2, b"no records"),
        (("--resume", "absent.jsonl"), 2, b"no receipt"),
        (("--resume", "damaged.jsonl"), 4, b"no records of ours"),
        (("--resume", "latest", "--seed", "x"), 2, b"belongs to the plan"),
        (("--log", "absent.log"), 4, b"no such file"),
        (("--log", "container:"), 2, b"no container name"),
        (("--timeout", "nan"), 2, b"no time in seconds"),
        (("--requests", "1" + "0" * 30), 2, b"--requests is"),
        (("--model", b"\xff"), 2, b"no name can have"),
        (("--seed", b"\xff"), 2, b"--seed holds"),
        (("--html", "/dev/null/page.html"), 4, b"can't write /dev/null/page.html"),
        (("--pid", "999999999"), 2, b"no process"),
        (("--log", "-"), 2, b"can't be followed"),
        (("--longest", "100000"), 2, b"do not fit"),
        (("--model", ""), 4, b"does not answer"),
    ],
)
def test_wrong_usage(
    run: Run, tmp_path: Path, arguments: tuple[str | bytes, ...], code: int, words: bytes
) -> None:
    (tmp_path / "damaged.jsonl").write_text("{nothing\n")
    with serve() as server:
        address = "http://127.0.0.1:1" if arguments == ("--model", "") else server.url
        done = run("soak", address, *arguments)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert b"Traceback" not in done.stderr


def test_no_key_and_no_text_gets_into_the_records(run: Run, tmp_path: Path) -> None:
    key = "topsecret-key-42"
    with serve(key=key, echoes_key=True) as server:
        done = run(
            *("soak", server.url, "--requests", "20", *SHORT), env={"SPARKPROOF_API_KEY": key}
        )
    assert done.returncode == 0
    kept = b"".join(p.read_bytes() for p in (tmp_path / "data").rglob("*") if p.is_file())
    assert b'"type":"request"' in kept
    for text in (key.encode(), b"miller", b"river bends"):
        assert text not in kept
