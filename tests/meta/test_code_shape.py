"""Sizes, names and the law that knowledge is data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_FUNCTION_LIMIT = 60
_FILE_LIMIT = 400
_VERSION = re.compile(r"v?\d+\.\d+(\.\d+)*\Z|sm_\d+[af]?\Z|compute_\d+|lto_\d+")
_MODEL = re.compile(r"qwen|llama|nemotron|gpt-oss|gemma|deepseek", re.IGNORECASE)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_functions_and_files_fit(repository: Any, folder: str) -> None:
    long = []
    for module in repository.modules(folder):
        if module.lines >= _FILE_LIMIT:
            long.append(f"{module.name}: {module.lines} lines")
        for function in _functions(module.tree):
            lines = (function.end_lineno or 0) - function.lineno + 1
            if lines > _FUNCTION_LIMIT:
                long.append(f"{module.name}:{function.lineno} {function.name}: {lines} lines")
    assert long == []


def test_no_module_is_a_drawer(repository: Any) -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    assert [m.name for m in repository.modules() if drawers & set(Path(m.name).parts)] == []
    assert [m.name for m in repository.modules() if m.path.stem in drawers] == []


def test_every_module_says_what_it_is_for(repository: Any) -> None:
    silent = [m.name for m in repository.modules() if m.lines and not ast.get_docstring(m.tree)]
    assert silent == []


def _compared(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from (n for n in ast.walk(side) if isinstance(n, ast.Constant))
        elif isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant):
            yield node.value


def test_no_decision_on_a_version_an_architecture_or_a_model_name_outside_the_facts(
    repository: Any,
) -> None:
    found = []
    for module in repository.modules():
        if module.name.startswith(("src/sparkproof/facts/", "src/sparkproof/testing/")):
            continue
        for constant in _compared(module.tree):
            text = constant.value
            if isinstance(text, str) and (_VERSION.match(text) or _MODEL.search(text)):
                found.append(f"{module.name}:{constant.lineno} {text!r}")
    assert found == []


def test_every_package_has_its_layer(repository: Any) -> None:
    text = (repository.root / "pyproject.toml").read_text(encoding="utf-8")
    packages = {p.parent.name for p in repository.src.glob("*/__init__.py")} - {"testing"}
    layered = set(re.findall(r"sparkproof\.(\w+)", text.split("[tool.importlinter]", 1)[1]))
    assert packages <= layered


def test_our_own_interpreter_is_started_in_one_way(repository: Any) -> None:
    """Any other might run modules of the current folder in place of ours."""
    starters = {
        module.name
        for module in repository.modules()
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.Attribute) and node.attr in {"executable", "_base_executable"})
        or (isinstance(node, ast.Name) and node.id == "executable")
        or (isinstance(node, ast.Import) and any(a.name == "multiprocessing" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("multiprocessing"))
        or (isinstance(node, ast.Name) and node.id == "ProcessPoolExecutor")
    }
    assert {Path(name).stem for name in starters} == {"interpreter"}
