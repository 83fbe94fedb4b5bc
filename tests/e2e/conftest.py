"""Run the installed command in a subprocess, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Begin = Callable[..., "subprocess.Popen[bytes]"]
SCRIPT = Path(sys.executable).with_name("sparkproof")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the command sees: a home of its own, and no setting of ours."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARKPROOF_", "XDG_"))}
    home = tmp_path / "home"
    home.mkdir()
    wide = {"COLUMNS": "400"}  # what is looked for stands in one line
    return {**kept, **wide, "HOME": str(home), "SPARKPROOF_DATA": str(tmp_path / "data")}


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Run:
    """``run("explain", "gb10", env={...}, code="...")``; `code` runs before the command line."""

    def start(
        *arguments: str | bytes,
        env: dict[str, str] | None = None,
        code: str = "",
        cwd: Path | None = None,
        stdin: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        patched = f"{code}\nfrom sparkproof.cli.main import main\nmain()"
        command = [sys.executable, "-c", patched] if code else [str(SCRIPT)]
        return subprocess.run(
            [*command, *arguments],
            env={**environment, **(env or {})},
            cwd=cwd or tmp_path,
            capture_output=True,
            check=False,
            timeout=120,
            input=stdin,
        )

    return start


@pytest.fixture
def begin(environment: dict[str, str], tmp_path: Path) -> Begin:
    """``begin("bench", url, until=b"round 3")``: it runs, and has said that on stderr."""

    def start(*arguments: str, until: bytes) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [str(SCRIPT), *arguments],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if until in line:
                break
        return process

    return start
