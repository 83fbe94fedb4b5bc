"""The repository as its own subject."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Module(NamedTuple):
    """One parsed Python file."""

    path: Path
    name: str
    lines: int
    tree: ast.Module


class Repository:
    """Files that are, or would be, committed."""

    root = ROOT
    src = ROOT / "src" / "sparkproof"

    def files(self) -> list[Path]:
        """Every file git knows or would add."""
        return _files()

    def modules(self, folder: str = "src") -> list[Module]:
        """Parsed Python files below a folder of the root."""
        return [m for m in _modules() if m.name.startswith(folder + "/")]


@cache
def _files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:  # an unpacked source archive
        hidden = (".venv", ".git", "__pycache__")
        names = [p for p in ROOT.rglob("*") if not any(part in hidden for part in p.parts)]
    else:
        names = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return sorted(path for path in names if path.is_file())


@cache
def _modules() -> list[Module]:
    found = []
    for path in _files():
        if path.suffix == ".py":
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(ROOT).as_posix()
            found.append(Module(path, name, text.count("\n"), ast.parse(text)))
    return found


@pytest.fixture(scope="session")
def repository() -> Repository:
    """Root, files and parsed modules."""
    return Repository()
