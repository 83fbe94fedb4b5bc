"""Arms for tests of ``ab``: stand-ins that know the bundled tasks, and a run over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbOutcome, AbResult, Treatment
from sparkproof.core.server_port import ServerPort
from sparkproof.gates.ab import make_cells
from sparkproof.gates.ab_tasks import Form, bundled_tasks
from sparkproof.testing.stand_in import FakePort
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.testing.task_server import TaskStandIn
from sparkproof.usecases.ab.arms import ArmRef
from sparkproof.usecases.ab.command import ab
from sparkproof.usecases.ab.wish import AbWish

CONTROL, TREATMENT = "http://control", "http://treatment"
TASKS = (*bundled_tasks(48), *bundled_tasks(48, form=Form.RAW))


def stand_in(
    *, started: float = 0.0, behaviour: dict[str, Any] | None = None, **wrong: Any
) -> TaskStandIn:
    """A server that knows the tasks, and no tools."""
    server = TaskStandIn(Behaviour(**{"tool_parser": "missing", **(behaviour or {})}), **wrong)
    server.started += started
    server.learn(TASKS)
    return server


def arm(name: str = TREATMENT, **more: Any) -> FakePort:
    """One arm in this process."""
    return FakePort(stand_in(**more), name=name)


def run(folder: Path, *ports: ServerPort, **wishes: Any) -> Report[AbResult]:
    """An A/B run without speed, which a busy machine would spoil."""
    refs = wishes.pop("refs", None) or [ArmRef(port.name) for port in ports]
    store = wishes.pop("store", None)
    say = wishes.pop("say", lambda _: None)
    wish = AbWish(
        **{
            "cells": tuple(make_cells((1, 2), warm=False)),
            "prompts": 12,
            "rounds": 2,
            "speed": False,
            "records": folder,
            **wishes,
        }
    )
    return ab(refs, wish, ports=ports, store=store, say=say)


def only(report: Report[AbResult]) -> Treatment:
    """The one treatment."""
    assert report.result is not None
    (treatment,) = report.result.treatments
    return treatment


def outcome(report: Report[AbResult]) -> AbOutcome:
    """What is said of it."""
    return only(report).outcome


def rules(report: Report[AbResult]) -> set[str]:
    """What was found."""
    return {finding.rule for finding in report.findings}
