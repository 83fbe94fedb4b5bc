"""A log that ends well beside a container that does not run any more."""

from __future__ import annotations

import json

import pytest

from sparkproof.core.verdict import Verdict
from sparkproof.formats.vllm_log.reader import read_log
from sparkproof.recipe.docker_inspect import parse_docker_inspect
from sparkproof.usecases.log.command import phrase_index, report_reading

UP = (
    "(APIServer pid=1) INFO 11-29 20:41:25 [api_utils.py:345]  █ ▀▄▀ █  version 0.26.0\n"
    "(APIServer pid=1) INFO:     Application startup complete.\n"
)


@pytest.mark.parametrize(
    ("state", "verdict", "said"),
    [
        ({"Status": "running", "ExitCode": 0}, Verdict.PASS, "is serving"),
        ({"Status": "paused", "ExitCode": 0}, Verdict.PASS, "is serving"),
        ({"Status": "exited", "ExitCode": 143}, Verdict.PASS, "served and was stopped"),
        ({"Status": "exited", "ExitCode": 0}, Verdict.PASS, "served and was stopped"),
        ({"Status": "exited", "ExitCode": 139}, Verdict.INCONCLUSIVE, "died while serving"),
        ({"Status": "exited", "ExitCode": 137, "OOMKilled": True}, Verdict.FAIL, "the OOM killer"),
    ],
)
def test_the_containers_state_counts(state: dict[str, object], verdict: Verdict, said: str) -> None:
    reading = read_log([UP.encode()], phrase_index(), "log")
    document = json.dumps([{"Config": {"Image": "me/vllm"}, "State": state}])
    report = report_reading(reading, parse_docker_inspect(document.encode(), "inspect"))
    assert report.verdict is verdict
    assert said in report.summary
