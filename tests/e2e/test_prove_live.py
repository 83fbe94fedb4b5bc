"""`prove --live` as installed: a small vLLM against the stand-in on a loopback socket."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.contract.ab_arms import stand_in
from tests.e2e.conftest import Begin, Run

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.results.live_proof import PartName
from sparkproof.core.server_port import Failure
from sparkproof.core.verdict import Verdict
from sparkproof.render.live_proof_html import proof_page
from sparkproof.testing.openai_server import OpenAIServer
from sparkproof.testing.small_vllm import write_small_wheel
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.prove.live import prove_live
from sparkproof.usecases.prove.live_parts import LiveRequest

pytestmark = [pytest.mark.e2e, pytest.mark.enable_socket]

CHECKPOINT = Path(__file__).parents[2] / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint"
SHORT = ("--skip", "soak", "--skip", "bench")
SAME: dict[str, Any] = {
    "version": "0.33.0",
    "max_model_len": 262144,
    "block_size": 1088,
    "cache": {"kv_cache_size_tokens": "4294967", "kv_cache_max_concurrency": "16.384"},
}
"""What fit predicts for that checkpoint and 4,096 blocks."""


def serve(**behaviour: Any) -> OpenAIServer:
    return OpenAIServer(StandIn(Behaviour(**{**SAME, **behaviour})))


@pytest.fixture
def deployed(tmp_path: Path) -> tuple[str, ...]:
    wheel = write_small_wheel(tmp_path)
    return ("prove", str(CHECKPOINT), "--artifact", str(wheel), "--nvcc", "--ninja")


def deployment_of(folder: Path) -> Deployment:
    box = Box(nvcc=True, ninja=True)
    return Deployment(str(CHECKPOINT), artifact=str(write_small_wheel(folder)), box=box)


def parts_of(answer: dict[str, Any]) -> dict[str, str]:
    return {part["name"]: part["verdict"] for part in answer["result"]["live"]["parts"]}


def rules_of(answer: dict[str, Any]) -> set[str]:
    return {finding["rule"] for finding in answer["findings"]}


class Page(HTMLParser):
    """Checks that every element is closed and that nothing comes from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elsewhere: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe"):
            self.elsewhere.append(tag)
        self.elsewhere += [name for name, _ in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("line", "rect", "path", "polyline")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def test_it_chains_every_part_into_one_verdict_one_receipt_and_one_page(
    run: Run, deployed: tuple[str, ...], tmp_path: Path
) -> None:
    page = tmp_path / "proof.html"
    with serve() as server:
        done = run(*deployed, "--live", server.url, "--quick", "--html", str(page), "--json")
        assert b"page written to" in done.stderr
    answer = json.loads(done.stdout)
    parts = parts_of(answer)
    assert parts.pop("bench") in ("pass", "inconclusive")  # the latter on a busy machine
    told = dict.fromkeys(("static", "match", "smoke", "soak"), "pass")
    assert parts == {**told, "log": "skipped", "ab": "skipped"}
    assert done.returncode in (0, 3)
    assert rules_of(answer) & {"proof/server-differs", "live/unreachable"} == set()
    assert [s["kind"] for s in answer["subjects"]] == ["wheel", "checkpoint", "server"]
    shown = json.loads(run("receipt", "show", "latest", "--json").stdout)
    kept = [p["receipt"] for p in answer["result"]["live"]["parts"] if p["receipt"]]
    assert len(kept) == 4
    assert answer["receipt"] in json.dumps(shown)
    stored = [json.loads(p.read_bytes()) for p in (tmp_path / "data").rglob("*.json")]
    (chained,) = [r for r in stored if r.get("hash") == answer["receipt"]]
    assert chained["parents"] == kept
    assert run("receipt", "verify").returncode == 0
    again = tmp_path / "again.html"
    assert run("receipt", "export", "latest", "--html", str(again)).returncode == 0
    assert again.read_text().replace("~", str(Path.home())) == page.read_text()
    read = Page(page.read_text())
    assert (read.open, read.elsewhere) == ([], [])
    text = " ".join(read.words)
    assert text.index("Not exercised") < text.index("Declare, select, deliver")
    for told in ("4,294,967", "Bench", "Facts used", answer["receipt"], *kept):
        assert told in text


@pytest.mark.parametrize(
    ("behaviour", "part", "rule"),
    [
        ({"version": "0.32.0"}, "match", "proof/server-differs"),
        ({"max_model_len": 4096}, "match", "proof/server-differs"),
        ({"garbage": "one-token"}, "smoke", "smoke/garbage"),
        ({"dies_after": 8}, "smoke", "live/server-died"),
    ],
)
def test_what_is_wrong_with_the_server_fails_the_part_that_sees_it(
    run: Run, deployed: tuple[str, ...], behaviour: dict[str, Any], part: str, rule: str
) -> None:
    with serve(**behaviour) as server:
        done = run(*deployed, "--live", server.url, "--quick", *SHORT, "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert parts_of(answer)[part] == "fail"
    assert rule in rules_of(answer)
    assert parts_of(answer)["static"] == "pass"


def die(server: StandIn) -> None:
    server.behaviour.dies_after = 0


def start_anew(server: StandIn) -> None:
    server.started += 60


@pytest.mark.parametrize(
    ("happens", "rule", "told"),
    [
        (die, "live/server-died", "the server stopped answering"),
        (start_anew, "live/restarted", "the server was started anew"),
    ],
)
def test_what_happens_between_two_parts_is_told_and_what_was_done_is_kept(
    tmp_path: Path, happens: Callable[[StandIn], None], rule: str, told: str
) -> None:
    server = StandIn(Behaviour(**SAME))

    def say(text: str) -> None:
        if text.startswith("bench: asking"):
            happens(server)

    request = LiveRequest("http://x", quick=True, skip=("soak",))
    report = prove_live(deployment_of(tmp_path), request, port=FakePort(server), say=say)
    assert report.result is not None
    assert report.result.live is not None
    bench = report.result.live.parts[-1]
    assert (report.verdict, bench.name, bench.verdict) == (Verdict.FAIL, "bench", Verdict.FAIL)
    assert bench.summary.startswith(told)
    assert report.result.live.smoke is not None
    assert rule in {finding.rule for finding in report.findings}


@pytest.mark.parametrize(
    ("failure", "part", "verdict"),
    [
        (Failure.NONE, "pass", (Verdict.PASS, Verdict.INCONCLUSIVE)),
        (Failure.REFUSED, "error", (Verdict.ERROR,)),
    ],
)
def test_a_control_arm_is_compared_with_and_a_dead_one_costs_that_part_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Failure,
    part: str,
    verdict: tuple[Verdict, ...],
) -> None:
    monkeypatch.setenv("SPARKPROOF_DATA", str(tmp_path))
    control = stand_in(started=60.0, behaviour=SAME)
    report = prove_live(
        deployment_of(tmp_path),
        LiveRequest("http://x", control="http://y", quick=True, skip=("soak",)),
        port=FakePort(stand_in(behaviour=SAME)),
        control_port=FakePort(control, failure=failure, name="http://control"),
    )
    assert report.result is not None
    live = report.result.live
    assert live is not None
    told = {item.name: item.verdict for item in live.parts}
    assert told[PartName.AB] == part
    assert told[PartName.BENCH] is not Verdict.SKIPPED
    assert report.verdict in verdict
    assert any(row.startswith("ab: 22 prompts") for row in live.exercised) is (part == "pass")
    page = proof_page(report)
    assert ("A/B against the control" in page) is (part == "pass")
    assert "<h2>Fit</h2>" in page


def test_nothing_is_measured_after_garbage(run: Run, deployed: tuple[str, ...]) -> None:
    with serve(garbage="noise") as server:
        answer = json.loads(run(*deployed, "--live", server.url, "--json").stdout)
    bench = next(p for p in answer["result"]["live"]["parts"] if p["name"] == "bench")
    assert bench["verdict"] == "skipped"
    assert bench["summary"].startswith("left out: ")


def test_a_server_that_is_not_there_costs_the_live_parts_alone(
    run: Run, deployed: tuple[str, ...]
) -> None:
    done = run(*deployed, "--live", "http://user:secret1@127.0.0.1:1")
    text = done.stdout.decode()
    assert done.returncode == 4
    assert text.startswith("ERROR  proven, but match: ")
    assert text.count("[live/unreachable]") == 1
    assert "vLLM CUTLASS NVFP4" in text
    assert "secret1" not in text + done.stderr.decode()
    assert run("receipt", "verify").returncode == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--quick",), b"need --live URL"),
        (
            ("--live", "http://127.0.0.1:1", "--control", "127.0.0.1:1/v1"),
            b"the control arm is the server itself",
        ),
        (("--live", "127.0.0.1:1", "--control", "--html"), b"`--html` stands where an address"),
        (("--live", "127.0.0.1:1", "proof.html"), b"unexpected extra argument"),
        (("--live", "ftp://x"), b"is no address of a server"),
        (("--live", "http://127.0.0.1:1", "--log", "absent.log"), b"absent.log"),
    ],
)
def test_wrong_usage_asks_nobody(
    run: Run, deployed: tuple[str, ...], options: tuple[str, ...], told: bytes
) -> None:
    done = run(*deployed, *options)
    assert done.returncode in (2, 4)
    assert told in done.stderr
    assert done.stdout == b""


def test_interrupting_keeps_what_was_done(begin: Begin, deployed: tuple[str, ...]) -> None:
    with serve(ttft_s=0.05, interval_s=0.02) as server:
        live = (*deployed, "--live", server.url, "--skip", "soak", "--json")
        process = begin(*live, until=b"round 1 of 3: answer")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    answer = json.loads(out)
    assert process.returncode == 130
    assert answer["summary"].startswith("interrupted; kept what was done: static, match, smoke")
    assert parts_of(answer)["smoke"] == "pass"
    assert answer["receipt"].startswith("sha256:")
