"""What a server is started with, given to the installed command in place of a TOML."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
SCRIPT = """#!/bin/bash
export VLLM_NVFP4_GEMM_BACKEND=marlin
MODEL=/models/absent
vllm serve "$MODEL" --max-model-len 8192
"""


def test_a_launch_script_is_a_deployment(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(SCRIPT)
    done = run("upgrade", str(script), "--from", "0.22.0", "--to", "0.25.1")
    assert done.returncode == 3
    assert b"drop VLLM_NVFP4_GEMM_BACKEND" in done.stdout
    assert b'"--max-model-len", "8192",' in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("compose.yaml", "services: {}\n", b"a compose file is not read as YAML"),
        ("run.sh", "vllm serve m/m $(cat flags)\n", b"`$(cat flags)` is known only when"),
        ("start.py", "", b"neither run nor read"),
    ],
)
def test_what_is_not_read_is_refused_by_name(
    run: Run, tmp_path: Path, name: str, text: str, message: bytes
) -> None:
    given = tmp_path / name
    given.write_text(text)
    done = run("upgrade", str(given), "--from", "0.22.0", "--to", "0.25.1")
    assert done.returncode == 4
    assert message in done.stderr
    assert b"hint:" in done.stderr


def test_more_arguments_in_a_file_are_not_passed_over(run: Run) -> None:
    done = run("select", "/models/absent", "--artifact", "0.33.0", "--", "--config", "more.yaml")
    assert done.returncode == 2
    assert b"--config" in done.stderr
