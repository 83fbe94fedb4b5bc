"""Servers that take questions and say nothing: how often they are asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparkproof.cli.commands.smoke import command as smoke_command
from sparkproof.cli.commands.why import command as why_command
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.server_port import Ask, Failure, Reply
from sparkproof.load.schedule import make_plan
from sparkproof.usecases.bench.command import Arm, bench
from sparkproof.usecases.live import Session, take_snapshot
from sparkproof.usecases.smoke import smoke
from sparkproof.usecases.why import why

MODELS = b'{"data": [{"id": "tiny", "max_model_len": 2048}]}'


class Quiet:
    """Answers the paths in `told`; the others get no byte."""

    name = "http://127.0.0.1:1"

    def __init__(self, **told: bytes) -> None:
        self._told = told
        self.asked: list[Ask] = []

    async def send(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        body = self._told.get(ask.label)
        if body is None:
            return Reply(0, failure=Failure.SILENT, detail=f"silent for {ask.silence_s:g} s")
        return Reply(200, "application/json", pieces=((0.01, body),))


def look(kind: str, port: Quiet) -> object:
    if kind == "smoke":
        return smoke(port.name, port=port)
    if kind == "bench":
        return bench(Arm(port.name), make_plan(modes=["raw"], depths=[8], output=8), port=port)
    return why(port.name, port=port)


@pytest.mark.parametrize("kind", ["smoke", "bench", "why"])
def test_one_look_at_a_silent_server_is_enough(kind: str) -> None:
    port = Quiet()
    with pytest.raises(UnreachableError, match="does not answer") as caught:
        look(kind, port)
    assert caught.value.hint
    assert len(port.asked) == 4
    assert all(ask.timeout_s <= 10 for ask in port.asked)


def test_a_server_whose_models_alone_are_silent_is_looked_at() -> None:
    found = asyncio.run(take_snapshot(Quiet(health=b"")))
    assert found.healthy == 200
    assert [unknown.where for unknown in found.unknowns if unknown.topic == "models"]


def test_smoke_stops_asking_what_stays_silent() -> None:
    port = Quiet(models=MODELS, health=b"")
    report = smoke(port.name, port=port)
    assert report.result is not None
    asked = [ask.label for ask in port.asked if ask.body and ask.label != "tokenize"]
    assert len(asked) < len(report.result.exchanges)
    assert report.verdict.value in ("fail", "error", "inconclusive")


def test_an_answer_in_between_starts_the_count_again() -> None:
    port = Quiet(answered=b"{}")
    session = Session(port, silences=2)

    async def go() -> None:
        for label in ("a", "answered", "b", "c", "d", "answered"):
            await session.ask(Ask(label, "/x"))

    asyncio.run(go())
    assert [ask.label for ask in port.asked] == ["a", "answered", "b", "c"]
    assert session.exchanges[-1].detail == "not asked: it was silent before"


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "1e99", "soon"])
def test_times_that_are_none(text: str, tmp_path: Path) -> None:
    for command, option in ((smoke_command, "--wait"), (why_command, "--patience")):
        done = CliRunner().invoke(command, ["http://127.0.0.1:9", option, text])
        assert done.exit_code == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"rates": [float("nan")]},
        {"rates": [float("inf")]},
        {"depths": [10**12]},
        {"requests": -1},
        {"repeats": 10**9},
    ],
)
def test_loads_that_are_none(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        make_plan(**{"modes": ["raw"], "depths": [8], "output": 8, **wrong})  # type: ignore[arg-type]
    assert caught.value.hint
