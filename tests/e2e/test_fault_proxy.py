"""The fault proxy before the stand-in, on loopback sockets and as a command."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sparkproof.adapters.server import Server
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.server_port import Ask, Failure, Reply
from sparkproof.load.observe import read_stream
from sparkproof.testing import upstream
from sparkproof.testing.openai_server import LineFaults, OpenAIServer
from sparkproof.testing.proxy import FaultProxy
from sparkproof.testing.stand_in import StandIn
from sparkproof.testing.stand_in_answer import Behaviour

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]
pytest_plugins = ["sparkproof.testing.fixtures"]
Start = Callable[..., FaultProxy]
COMMAND = [sys.executable, "-m", "sparkproof.testing.proxy"]


def serve(**behaviour: Any) -> OpenAIServer:
    return OpenAIServer(StandIn(Behaviour(**behaviour)))


def post(prompt: str = "Count from 44:", **body: Any) -> Ask:
    whole = {"model": "tiny", "prompt": prompt, "max_tokens": 12, **body}
    return Ask("x", "/v1/completions", msgspec.json.encode(whole), timeout_s=60, silence_s=30)


def streamed(prompt: str = "Count from 44:") -> Ask:
    options = {"include_usage": True, "continuous_usage_stats": True}
    return post(prompt, stream=True, stream_options=options)


JSON_ASK = Ask(
    "x",
    "/v1/chat/completions",
    msgspec.json.encode(
        {
            "model": "tiny",
            "messages": [{"role": "user", "content": "x"}],
            "response_format": {"type": "json_object"},
        }
    ),
)


def send(url: str, *asks: Ask) -> list[Reply]:
    """All at once."""

    async def go() -> list[Reply]:
        async with Server(url) as port:
            return list(await asyncio.gather(*(port.send(ask) for ask in asks)))

    return asyncio.run(go())


def raw(port: int, ask: Ask) -> bytes:
    """The bytes of the answer as they stand on the line."""
    head = f"{ask.method} {ask.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(ask.body)}\r\n\r\n"
    end = b"0\r\n\r\n" if b'"stream"' in ask.body else b"}"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(head.encode() + ask.body)
        got = b""
        while not got.endswith(end):
            piece = line.recv(65536)
            assert piece, got
            got += piece
    return got


@pytest.mark.parametrize("ask", [post(), streamed(), post(model="other"), Ask("v", "/version")])
def test_without_a_fault_every_byte_passes(fault_proxy: Start, ask: Ask) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url)
        assert raw(proxy.port, ask) == raw(server.port, ask)


def test_a_fault_that_does_not_strike_leaves_the_events_alone(fault_proxy: Start) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url, "corrupt:above=2")
        (reply,), (straight,) = send(proxy.url, streamed()), send(server.url, streamed())
    assert reply.body == straight.body
    assert proxy.injected == {}


def test_a_version_loses_its_end_and_says_so_in_the_count(fault_proxy: Start) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url, "drop-version")
        (reply,) = send(proxy.url, JSON_ASK)
    said = json.loads(reply.body)
    assert json.loads(said["choices"][0]["message"]["content"])["version"] == "1.2"
    assert proxy.injected == {"drop-version": 1}
    assert proxy.struck == [(1, "drop-version")]


def test_a_lie_in_the_usage_of_a_stream(fault_proxy: Start) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url, "usage:2")
        (reply,) = send(proxy.url, streamed())
    assert read_stream(reply).completion_tokens == 24


def test_a_truncated_stream_and_a_truncated_answer(fault_proxy: Start) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url, "truncate")
        replies = [*send(proxy.url, streamed()), *send(proxy.url, post())]
    assert [reply.failure for reply in replies] == [Failure.DROPPED] * 2
    assert all(reply.body for reply in replies)


def test_packing_makes_fewer_events(fault_proxy: Start) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url, "pack:4")
        (reply,), (straight,) = send(proxy.url, streamed()), send(server.url, streamed())
    assert reply.body.count(b"data:") == straight.body.count(b"data:") - 9
    texts = [re.findall(rb'"text":\s?"([^"]*)"', r.body) for r in (reply, straight)]
    assert b"".join(texts[0]) == b"".join(texts[1])


def test_it_dies_of_many_at_once_and_then_refuses(fault_proxy: Start) -> None:
    with serve(ttft_s=20.0) as server:
        proxy = fault_proxy(server.url, "die:4")
        replies = send(proxy.url, *[streamed()] * 4)
        (later,) = send(proxy.url, Ask("h", "/health"))
    assert {reply.failure for reply in replies} == {Failure.DROPPED}
    assert later.failure is Failure.REFUSED


def test_an_illegal_access_is_told_logged_and_final(fault_proxy: Start, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serve() as server:
        proxy = fault_proxy(server.url, "illegal-access:2", log=log)
        replies = [send(proxy.url, post())[0] for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 500, 0]
    assert b"EngineCore encountered an issue" in replies[1].body
    assert replies[2].failure is Failure.REFUSED
    assert "an illegal memory access was encountered" in log.read_text()


def test_a_restarted_server_is_another_one_with_counters_at_zero(fault_proxy: Start) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url, "restart:0,number=3")
        metrics = Ask("m", "/metrics")
        send(proxy.url, post())
        (before,) = send(proxy.url, post(), metrics)[1:]
        (cut,) = send(proxy.url, post())
        after = send(proxy.url, metrics)[0]
        while after.failure is Failure.REFUSED:
            after = send(proxy.url, metrics)[0]
    assert cut.failure is Failure.DROPPED
    start = re.compile(rb"^process_start_time_seconds (\S+)", re.MULTILINE)
    made = re.compile(rb"^vllm:generation_tokens_total\S* (\S+)", re.MULTILINE)
    assert start.findall(before.body) != start.findall(after.body)
    assert float(made.findall(before.body)[0]) > 0
    assert float(made.findall(after.body)[0]) == 0


def test_a_client_that_hangs_up_frees_its_place(fault_proxy: Start) -> None:
    ask = streamed()
    head = f"POST {ask.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(ask.body)}\r\n\r\n"
    with serve() as server:
        proxy = fault_proxy(server.url, "stall:1")
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as line:
            line.sendall(head.encode() + ask.body)
            got = b""
            while b'"text"' not in got:
                got += line.recv(65536)
            assert proxy.state()["in_flight"] == 1
        while proxy.state()["in_flight"]:
            time.sleep(0.01)
    assert proxy.completions == 1


def test_no_server_behind_it_is_one_error(fault_proxy: Start) -> None:
    with pytest.raises(UnreachableError, match=r"no server at http://127\.0\.0\.1:9: "):
        fault_proxy("http://127.0.0.1:9")
    with pytest.raises(UsageError, match="holds a login"):
        fault_proxy("http://user:secret@127.0.0.1:9")


def test_a_server_that_goes_away_is_named(fault_proxy: Start) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url)
        assert send(proxy.url, post())[0].ok
    (reply,) = send(proxy.url, post())
    assert reply.status == 502
    assert f"no server at {server.url}" in json.loads(reply.body)["error"]["message"]


def test_no_answer_is_kept_beyond_bounds(
    fault_proxy: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "WHOLE_LIMIT_BYTES", 50)
    with serve() as server:
        proxy = fault_proxy(server.url, "drop-version")
        (reply,) = send(proxy.url, post())
    assert reply.status == 502
    assert "more than 50 bytes" in json.loads(reply.body)["error"]["message"]


def test_an_event_without_end_is_cut(fault_proxy: Start) -> None:
    with OpenAIServer(StandIn(), LineFaults(endless=True)) as server:
        proxy = fault_proxy(server.url, "drop-version")
        (reply,) = send(proxy.url, streamed())
    assert reply.failure is Failure.DROPPED
    assert reply.body == b""


@pytest.mark.parametrize(
    "request_bytes", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -4\r\n\r\n"]
)
def test_no_http_is_refused(fault_proxy: Start, request_bytes: bytes) -> None:
    with serve() as server:
        proxy = fault_proxy(server.url)
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as line:
            line.sendall(request_bytes)
            assert line.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_the_command_tells_its_address_and_what_it_did() -> None:
    with serve() as server:
        arguments = ["--upstream", server.url, "--fault", "error:1"]
        with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            (reply,) = send(told["url"], post())
            process.send_signal(signal.SIGTERM)
            done = json.loads(process.stdout.readline())
            assert process.wait(30) == 0
    assert told["faults"] == ["error:1"]
    assert reply.status == 500
    assert (done["completions"], done["injected"]) == (1, {"error": 1})


def test_a_log_that_can_not_be_written_is_told_at_once(tmp_path: Path) -> None:
    """And not when a fault has something to write, which would then not come to pass."""
    with serve() as server, pytest.raises(UnreachableError, match="can't write"):
        FaultProxy(server.url, log=tmp_path).__enter__()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--upstream", "http://127.0.0.1:9"], 4, b"error: no server at http://127.0.0.1:9"),
        (["--upstream", "ftp://x"], 2, b"is no address of a server"),
        (["--upstream", "x", "--fault", "nonsense"], 2, b"hint: one of drop-version, "),
        ([], 2, b"error: no server is named"),
        (["--upstream", "x", *["--fault", "garbage"] * 65], 2, b"more than 64 faults"),
        (["--list"], 0, b""),
    ],
)
def test_the_command_ends_with_one_error(arguments: list[str], code: int, said: bytes) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, timeout=60, check=False)
    assert done.returncode == code
    assert said in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout.startswith(b"drop-version: ") is (code == 0)
