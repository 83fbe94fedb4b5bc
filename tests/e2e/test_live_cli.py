"""The live commands as installed, against the stand-in on a loopback socket."""

from __future__ import annotations

import csv
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Begin, Run

from sparkproof.core.errors import FormatError
from sparkproof.core.server_port import Ask, Reply
from sparkproof.testing.openai_server import LineFaults, OpenAIServer
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.smoke import smoke

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]
BOOTED = Path(__file__).parents[1] / "data" / "logs" / "cpu-0.27.1-ngram.log"
BENCH = ("--mode", "raw", "--depth", "32", "--output", "24")


def serve(**behaviour: Any) -> OpenAIServer:
    return OpenAIServer(StandIn(Behaviour(**behaviour)))


def answer(run: Run, *arguments: str, **more: Any) -> tuple[int, dict[str, Any]]:
    done = run(*arguments, "--json", **more)
    return done.returncode, json.loads(done.stdout)


def test_smoke_passes_and_keeps_a_receipt_that_a_later_one_trusts(run: Run) -> None:
    with serve() as server:
        code, first = answer(run, "smoke", server.url, "--expect", "0.32.0")
        again, second = answer(run, "smoke", server.url, "--trusted", first["receipt"])
        text = run("smoke", f"server:{server.url}/v1", "--no-receipt").stdout.decode()
    assert (code, again) == (0, 0)
    assert second["result"]["change"]["mean_nats"] == 0
    assert text.startswith("PASS  tiny is sound")
    assert run("receipt", "verify").returncode == 0


def test_smoke_fails_on_garbage_and_names_it(run: Run) -> None:
    with serve(garbage="one-token") as server:
        done = run("smoke", server.url)
    assert done.returncode == 1
    assert b"[smoke/garbage]" in done.stdout


def test_warming_up_waits_for_the_server(run: Run) -> None:
    with serve() as server:
        done = run("smoke", server.url, "--warm-only", "--wait", "5")
    assert done.returncode == 0
    assert b"is warm" in done.stdout


def test_the_log_of_a_server_that_is_waited_for_is_read_once_it_is_up(tmp_path: Path) -> None:
    log = tmp_path / "boot.log"
    log.write_text("starting\n")

    class Booting(FakePort):
        async def send(self, ask: Ask) -> Reply:
            log.write_bytes(BOOTED.read_bytes())
            return await super().send(ask)

    port = Booting(StandIn(Behaviour()))
    report = smoke("http://stand-in", port=port, log=str(log), wait_s=5, warm_only=True)
    assert report.result is not None
    assert report.result.log is not None
    log.write_text("starting\n")
    with pytest.raises(FormatError):
        smoke("http://stand-in", port=port, log=str(log))


def test_why_names_one_cause(run: Run, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    messages = [{"role": "user", "content": "weather?"}]
    request.write_text(json.dumps({"model": "tiny", "messages": messages, "tools": tools}))
    with serve(tool_parser="wrong") as server:
        code, report = answer(run, "why", server.url, "--replay", str(request))
    assert (code, report["result"]["rule"]) == (1, "response/wrong-parser")
    code, report = answer(run, "why", server.url)
    assert (code, report["result"]["rule"]) == (1, "why/unreachable")


def test_bench_tells_the_scripted_figures_and_can_be_compared(run: Run, tmp_path: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    with serve(ttft_s=0.1, interval_s=0.01) as server:
        codes = [
            run("bench", server.url, *BENCH, "--box", name, "--html", str(page)).returncode
            for name in ("one", "two")
        ]
        _, report = answer(run, "bench", server.url, *BENCH, "--no-receipt")
    assert set(codes) <= {0, 3}  # 3 where this machine was too busy to measure
    cell = report["result"]["cells"][0]
    assert 0.1 <= cell["ttft_s"]["low"] < 0.2
    assert 60 < cell["decode_tokens_per_s"]["median"] < 110
    assert report["result"]["plan"]["repeats"] == 3
    assert page.read_text().startswith("<!doctype html>")
    assert run("receipt", "export", "latest", "--csv", str(table)).returncode == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 9
    assert {row["completion_tokens"] for row in rows} == {"24"}
    code, compared = answer(run, "compare", "1", "2")
    assert code in (0, 3)
    assert compared["result"]["pairs"][0]["chosen"] == [
        {"role": "box", "first": "one", "second": "two"}
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("smoke", "ftp://x"), 2, b"is no address of a server"),
        (("smoke", "http://127.0.0.1:1"), 4, b"does not answer"),
        (("bench", "http://127.0.0.1:1", "--concurrency", "1", "--rate", "2"), 2, b"not both"),
        (("why", "http://127.0.0.1:1", "--replay", "absent.json"), 2, b"does not exist"),
        (("compare", "1"), 2, b"two receipts or more"),
        (("receipt", "export", "1"), 2, b"--html FILE or --csv FILE"),
    ],
)
def test_wrong_usage_and_nobody_there(
    run: Run, arguments: tuple[str, ...], code: int, words: bytes
) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["smoke", "bench", "soak"])
def test_what_stood_in_the_place_of_models_is_told(run: Run, command: str) -> None:
    raw = b"HTTP/1.1 503 Busy\r\nContent-Length: 12\r\n\r\nstill loading"
    with OpenAIServer(faults=LineFaults(raw=raw)) as server:
        done = run(command, server.url)
    assert done.returncode == 4
    assert b"lists no model: /v1/models: 503 still loadin" in done.stderr


@pytest.mark.parametrize(
    "faults",
    [
        {"raw": b"SSH-2.0-OpenSSH\r\n"},
        {"raw": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<html></h"},
        {"redirect": "http://127.0.0.1:1/"},
    ],
)
@pytest.mark.parametrize("command", ["smoke", "bench", "why"])
def test_what_is_no_server_of_ours(run: Run, command: str, faults: dict[str, Any]) -> None:
    with OpenAIServer(faults=LineFaults(**faults)) as server:
        done = run(command, server.url, "--json")
    assert done.returncode in (1, 2, 4)
    assert b"Traceback" not in done.stderr
    assert json.loads(done.stdout)["command"] == command


def test_the_key_reaches_no_receipt_and_no_output(run: Run, tmp_path: Path) -> None:
    key = "topsecret-key-42"
    with serve(key=key, echoes_key=True) as server:
        done = run("smoke", server.url, "-v", env={"SPARKPROOF_API_KEY": key})
        wrong = run("smoke", server.url, env={"SPARKPROOF_API_KEY": f"{key}-x"})
    assert done.returncode == 0
    assert wrong.returncode == 4
    assert b"wants a key" in wrong.stderr
    kept = b"".join(p.read_bytes() for p in (tmp_path / "data").rglob("*") if p.is_file())
    assert b"tiny is sound" in kept
    for text in (done.stdout, done.stderr, wrong.stdout, wrong.stderr, kept):
        assert key.encode() not in text


def test_interrupting_keeps_what_was_measured(begin: Begin) -> None:
    with serve(ttft_s=0.05, interval_s=0.01) as server:
        bench = ("bench", server.url, *BENCH, "--repeats", "200", "--json")
        process = begin(*bench, until=b"round 3")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    report = json.loads(out)
    assert process.returncode == 130
    assert report["result"]["interrupted"]
    assert 2 <= len(report["result"]["runs"]) < 200
    assert report["receipt"].startswith("sha256:")
    assert "interrupted" in report["summary"]
