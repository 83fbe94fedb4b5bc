"""``ab`` as installed, against stand-ins that know the tasks, on loopback sockets."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.contract.ab_arms import stand_in
from tests.e2e.conftest import SCRIPT, Begin, Run

from sparkproof.adapters.server_process import look_at
from sparkproof.testing.openai_server import OpenAIServer

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]
QUICK = {"ttft_s": 0.0, "interval_s": 0.0}
SMALL = ("--prompts", "12", "--concurrency", "1", "--concurrency", "2", "--cold", "--no-speed")


def serve(**more: Any) -> OpenAIServer:
    behaviour = {**QUICK, **more.pop("behaviour", {})}
    return OpenAIServer(stand_in(behaviour=behaviour, **more))


def test_a_sound_treatment_passes_and_a_corrupt_one_fails(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with serve() as control, serve(started=5) as sound, serve(started=6, corrupts=0.3) as corrupt:
        fine = run("ab", control.url, sound.url, *SMALL)
        bad = run("ab", control.url, corrupt.url, *SMALL, "--html", str(page), "--json")
    assert fine.returncode == 0
    assert fine.stderr.splitlines()[1].startswith(b"detects 17 % corruption with 90 % power at 12")
    assert b"no difference seen, could have seen 17 %" in fine.stdout
    assert bad.returncode == 1
    report = json.loads(bad.stdout)
    assert report["result"]["treatments"][0]["outcome"] == "corrupts"
    text = page.read_text()
    assert "<svg" in text
    assert "<script" not in text


def test_one_server_is_refused_and_with_aa_is_its_own_noise(run: Run) -> None:
    with serve() as control:
        twice = run("ab", control.url, control.url, *SMALL)
        noise = run("ab", control.url, "--aa", *SMALL)
    assert (twice.returncode, noise.returncode) == (2, 0)
    assert b"--aa" in twice.stderr
    assert b"one server against itself: no difference seen" in noise.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("http://x", "http://y", "--detect", "200%"), b"no share"),
        (("http://x", "http://y", "--concurrency", "0"), b"a concurrency lies between"),
        (("http://x", "http://y", "--expect-different", "tokenizer"), b"one of checkpoint"),
        (("http://x", "http://y", "--restart-control", "true"), b"one URL"),
        (("http://x",), b"nothing to compare with"),
        (("http://x", "http://y", "--rounds", "0"), b"rounds are at least 1"),
        (("http://x", "http://y", "--timeout", "nan"), b"no time in seconds"),
        (("http://x", "http://y", "--timeout", "0"), b"--timeout is above 0"),
        (("http://x", "http://y", "--wait", "inf"), b"no time in seconds"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_asked(
    run: Run, arguments: tuple[str, ...], said: bytes
) -> None:
    done = run("ab", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_what_was_answered_survives_and_is_not_asked_again(
    run: Run, begin: Begin, stop: signal.Signals
) -> None:
    with serve() as control, serve(started=5, behaviour={"interval_s": 0.05}) as slow:
        command = ("ab", control.url, slow.url, *SMALL)
        process = begin(*command, "--json", until=b"treatment: round 1")
        process.send_signal(stop)
        out, _ = process.communicate(timeout=60)
        before = len(control.stand_in.asked)
        slow.stand_in.behaviour.interval_s = 0.0
        done = run(*command, "--resume", "latest", "--json")
    if stop is signal.SIGINT:
        assert process.returncode == 130
        assert json.loads(out)["result"]["interrupted"]
    result = json.loads(done.stdout)["result"]
    assert done.returncode == 0
    assert result["resumed_after"] > 0
    assert len([p for p in result["pairs"] if p["arm"] == 1]) == 24
    streamed = [r for _, r in control.stand_in.asked[before:] if r.get("stream")]
    assert len(streamed) < 36  # of 48 in all: what was answered is not asked again


SERVER = """
import signal, sys
from tests.contract.ab_arms import stand_in
from sparkproof.testing.openai_server import OpenAIServer
server = stand_in(started=float(sys.argv[2]), corrupts=float(sys.argv[3]),
                  behaviour={"ttft_s": 0.0, "interval_s": 0.0})
with OpenAIServer(server, port=int(sys.argv[1])):
    signal.pause()
"""


def test_commands_bring_the_arms_up_one_after_the_other(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text(SERVER)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = Path(__file__).parents[2]
    starts = [f"{sys.executable} {script} {port} {n} {bad}" for n, bad in ((1, 0), (2, 0.4))]
    done = run(
        *("ab", f"http://127.0.0.1:{port}", *SMALL, "--json"),
        *("--restart-control", starts[0], "--restart-treatment", starts[1], "--wait", "60"),
        env={"PYTHONPATH": str(root)},
    )
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)["result"]
    assert result["plan"]["one_url"]
    assert result["treatments"][0]["outcome"] == "corrupts"
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0  # nothing is left running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_that_was_brought_up_outlives_the_run(
    environment: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    """Nor where it does not listen to SIGTERM and somebody presses Ctrl-C again and again."""
    told = tmp_path / "pid"
    script = f"trap '' TERM; echo $$ > {told}.new; mv {told}.new {told}; sleep 600; sleep 600"
    command = shlex.join(["sh", "-c", script])
    restarts = ("--restart-control", command, "--restart-treatment", command)
    process = subprocess.Popen(
        [SCRIPT, "ab", "http://127.0.0.1:1", *SMALL, *restarts],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not told.exists() and process.poll() is None:
        time.sleep(0.05)
    while process.poll() is None:
        process.send_signal(number)
        time.sleep(0.2)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert look_at(int(told.read_text())) is None
