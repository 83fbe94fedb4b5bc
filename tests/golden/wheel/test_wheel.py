"""`wheel` on real artifacts: what an operator reads, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sparkproof.testing.artifacts import write_wheel

Cli = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]


class Case(NamedTuple):
    """One command line."""

    name: str
    code: int
    requirement: str
    arguments: tuple[str, ...] = ()


CASES = [
    Case("vllm-0.33.0", 0, "vllm==0.33.0"),
    Case("vllm-0.33.0-archs", 0, "vllm==0.33.0", ("--archs",)),
    Case("vllm-0.33.0-on-9.0", 0, "vllm==0.33.0", ("--device", "9.0")),
    Case("vllm-0.19.1", 1, "vllm==0.19.1"),
    Case("sgl-kernel", 1, "sgl-kernel==0.3.21"),
    Case("bitsandbytes", 0, "bitsandbytes==0.50.2"),
    Case("flashinfer-cubin", 3, "flashinfer-cubin==0.6.13"),
    Case("flashinfer-python", 0, "flashinfer-python==0.7.2.post1"),
]


@pytest.fixture
def wheel(case: Case, real_wheel: Callable[..., Path]) -> Path:
    """The case's wheel; asked for before `cli` takes the user's home away."""
    return real_wheel(case.requirement)


@pytest.mark.artifact
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_wheel(case: Case, wheel: Path, cli: Cli, golden: Golden) -> None:
    code, out, err = cli("wheel", str(wheel), *case.arguments)
    assert (code, err) == (case.code, "")
    golden(f"{case.name}.txt", out)


@pytest.mark.parametrize("arguments", [(), ("--archs",)], ids=["judged", "archs"])
def test_a_wheel_without_device_code(
    arguments: tuple[str, ...], cli: Cli, golden: Golden, tmp_path: Path
) -> None:
    plain = write_wheel(tmp_path, "plain", "1.0", tag="py3-none-any")
    code, out, err = cli("wheel", str(plain), *arguments)
    assert (code, err) == (0, "")
    golden(f"plain{'-archs' if arguments else ''}.txt", out)
