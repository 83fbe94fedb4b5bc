"""Goldens: what the command line prints, kept in files beside the tests.

``SPARKPROOF_UPDATE_GOLDENS=1`` rewrites those that differ and then fails the run, so that a
rewritten golden is always looked at and never passes by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sparkproof import __version__
from sparkproof.cli.main import main

UPDATE = "SPARKPROOF_UPDATE_GOLDENS"
_DATED = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class CliRun(NamedTuple):
    """What one command line left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., CliRun]
Golden = Callable[[str, str], None]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """``cli("explain", "gb10")`` in this process, with a home and a store of its own."""
    for name in ("HOME", "XDG_DATA_HOME", "SPARKPROOF_DATA"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("SPARKPROOF_CACHE", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str) -> CliRun:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capsys.readouterr()
        return CliRun(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Golden]:
    """``golden("name.txt", text)`` compares with the file of that name beside the test.

    Moments, this version and the test's own folder are written as placeholders; whatever else
    a test prints has to be the same every time.
    """

    written: list[str] = []

    def compare(name: str, actual: str) -> None:
        path = Path(request.path).parent / name
        stable = actual.replace(str(tmp_path), "<tmp>")
        stable = _DATED.sub("<moment>", stable)
        stable = stable.replace(f'"tool_version": "{__version__}"', '"tool_version": "<version>"')
        if not os.environ.get(UPDATE):
            assert path.is_file(), f"no golden {name}: {UPDATE}=1 writes it"
            assert stable == path.read_text(encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != stable:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(stable, encoding="utf-8")
            written.append(name)

    yield compare
    if written:
        pytest.fail(f"wrote {written}; look at the difference, then run without {UPDATE}")
