"""`prove` on real wheels: what an operator reads, and the exit code, case by case."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from sparkproof.core.report import Report
from sparkproof.core.results.proof import ProofResult
from sparkproof.usecases import code_reading, looking

ROOT = Path(__file__).parents[3]
Cli = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]
TOOLS = ("--nvcc", "--ninja")
NO_TOOLS = ("--no-nvcc", "--no-ninja")
FP8_CACHE = ("--", "--kv-cache-dtype", "fp8")


class Case(NamedTuple):
    """One command line; `build` is an example, `arguments` follow it."""

    name: str
    code: int
    release: str
    build: str
    arguments: tuple[str, ...]
    platform: str = "aarch64"


CASES = [
    Case("w4a4", 0, "0.33.0", "w4a4", TOOLS),
    Case("w4a4-no-compiler", 0, "0.33.0", "w4a4", NO_TOOLS),
    Case("w4a4-unstated", 0, "0.33.0", "w4a4", ()),
    Case("w4a4-fp8-cache-unstated", 1, "0.33.0", "w4a4", FP8_CACHE),
    Case("w4a16", 0, "0.33.0", "w4a16", (*TOOLS, *FP8_CACHE)),
    Case("w4a16-no-compiler", 1, "0.33.0", "w4a16", (*NO_TOOLS, *FP8_CACHE)),
    Case("mixed", 0, "0.33.0", "mixed", TOOLS),
    Case("w4a4-0.19.1", 1, "0.19.1", "w4a4", TOOLS),
    Case("w4a4-0.25.1-no-compiler", 1, "0.25.1", "w4a4", NO_TOOLS),
    Case("half-forced", 0, "0.33.0", "w4a4", (*TOOLS, "--", "--moe-backend", "marlin")),
    Case("flag-refused", 1, "0.33.0", "w4a4", (*TOOLS, "--", "--moe-backend", "warp")),
    Case(
        "variable-dropped",
        0,
        "0.33.0",
        "w4a4",
        (*TOOLS, "--env", "VLLM_NVFP4_GEMM_BACKEND=marlin"),
    ),
    Case(
        "quantization-flag", 1, "0.33.0", "w4a4", (*TOOLS, "--", "--quantization", "modelopt_fp4")
    ),
    Case("other-platform", 1, "0.33.0", "w4a4", TOOLS, platform="x86_64"),
    Case("h200", 0, "0.33.0", "w4a4", (*TOOLS, "--device", "h200")),
    Case("b200", 0, "0.33.0", "w4a4", (*TOOLS, "--device", "b200")),
    Case("rtx-5090", 0, "0.33.0", "w4a4", (*TOOLS, "--device", "rtx-5090")),
]
WITH_JSON = {"w4a4"}


@pytest.fixture(scope="module")
def read_once() -> Any:
    """Each wheel's device code is read once a device: these tests are about what follows."""
    patch = pytest.MonkeyPatch()
    for module, name in ((code_reading, "read_device_code"), (looking, "read_surface")):
        patch.setattr(module, name, _remembering(getattr(module, name)))
    yield
    patch.undo()


def _remembering(read: Callable[..., Any]) -> Callable[..., Any]:
    found: dict[object, Any] = {}

    def remembered(artifact: Any, *rest: Any, **named: Any) -> Any:
        key = (artifact.name, tuple(map(str, rest[:1])), str(named.get("oracles")))
        if key not in found:
            found[key] = read(artifact, *rest, **named)
        return found[key]

    return remembered


@cache
def described(build: str) -> str:
    """The example's checkpoint; its deployment states the box, which most cases here do not."""
    return str(ROOT / "examples" / f"qwen3.6-35b-a3b-{build}" / "checkpoint")


@pytest.fixture
def wheel(case: Case, real_wheel: Callable[..., Path]) -> Path:
    """The case's wheel; asked for before `cli` takes the user's home away."""
    return real_wheel(f"vllm=={case.release}", platform=case.platform)


@pytest.mark.artifact
@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prove(case: Case, wheel: Path, cli: Cli, golden: Golden) -> None:
    line = ("prove", described(case.build), "--artifact", str(wheel), "--no-receipt")
    if case.build == "mixed":
        case = case._replace(arguments=(*case.arguments, *FP8_CACHE))

    def stable(text: str) -> str:
        return text.replace(str(wheel.parent), "<cache>").replace(str(ROOT), "<repository>")

    code, out, err = cli(*line, *case.arguments)
    assert (code, err) == (case.code, "")
    golden(f"{case.name}.txt", stable(out))
    if case.name in WITH_JSON:
        code, out, _ = cli(*line, "--json", *case.arguments)
        assert code == case.code
        assert msgspec.json.decode(out, type=Report[ProofResult]).result is not None
        golden(f"{case.name}.json", stable(out))
