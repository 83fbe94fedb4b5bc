"""`select` on shipped surfaces: what an operator reads, and the exit code, case by case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from sparkproof.core.report import Report
from sparkproof.core.results.select import SelectResult

ROOT = Path(__file__).parents[3]
Cli = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]
TOOLS = ("--nvcc", "--ninja")
MTP = '{"method": "mtp", "num_speculative_tokens": 3}'


class Case(NamedTuple):
    """One command line: examples, options, and vLLM's arguments after ``--``."""

    name: str
    code: int
    builds: tuple[str, ...]
    options: tuple[str, ...]
    after: tuple[str, ...] = ()


CASES = [
    Case("three-builds", 0, ("w4a4", "w4a16", "mixed"), ("--vllm", "0.33.0", *TOOLS)),
    Case("unstated", 0, ("w4a4",), ("--vllm", "0.33.0")),
    Case("before-the-flag", 1, ("w4a4",), ("--vllm", "0.20.0"), ("--linear-backend", "marlin")),
    Case(
        "drafter",
        1,
        ("w4a16",),
        ("--vllm", "0.27.1", *TOOLS),
        ("--kv-cache-dtype", "fp8", "--moe-backend", "marlin", "--speculative-config", MTP),
    ),
    Case("h200", 0, ("w4a16",), ("--vllm", "0.26.0", "--device", "h200", *TOOLS)),
]


def command_line(case: Case) -> list[str]:
    configs = [
        str(ROOT / "examples" / f"qwen3.6-35b-a3b-{build}" / "checkpoint") for build in case.builds
    ]
    after = ["--", *case.after] if case.after else []
    return ["select", *configs, *case.options, *after]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_select(cli: Cli, golden: Golden, case: Case) -> None:
    code, out, err = cli(*command_line(case))
    assert err == ""
    golden(f"{case.name}.txt", out.replace(str(ROOT), "<root>"))
    assert code == case.code


def test_select_in_json(cli: Cli, golden: Golden) -> None:
    case = Case("before-the-flag", 1, ("w4a4",), ("--vllm", "0.20.0", "--json"))
    code, out, _ = cli(*command_line(case._replace(after=("--linear-backend", "marlin"))))
    golden("before-the-flag.json", out.replace(str(ROOT), "<root>"))
    assert code == case.code
    document = msgspec.json.decode(out, type=Report[SelectResult])
    assert document.schema == "sparkproof/select/1"


def test_a_release_and_an_artifact_at_once_is_wrong_usage(cli: Cli) -> None:
    code, out, err = cli("select", "x", "--vllm", "0.33.0", "--artifact", "vllm==0.33.0")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "error: --vllm stands in for an artifact"


def test_what_follows_the_dashes_is_the_servers(cli: Cli) -> None:
    code, _, err = cli("select", "nowhere", "--vllm", "0.33.0", "--", "--kv-cache-dtype")
    assert code == 2
    assert "needs a value" in err
