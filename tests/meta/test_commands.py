"""Every command has help, a mention in the docs, a schema; every exit code a test."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from typing import Any

import click
import pytest

from sparkproof.cli.registry import COMMANDS, SECTIONS, CommandEntry, command_of
from sparkproof.cli.schemas import documents, file_name, render, schemas
from sparkproof.core.errors import ExitCode
from sparkproof.core.report import schema_name
from sparkproof.usecases.explain.command import list_topics

_IMPORTED_AS = {"prometheus-client": "prometheus_client"}
_TYPED = re.compile(r"`sparkproof ([^`]+)`")
_SHOWN = re.compile(r"^ *(?:\$ )?sparkproof (.+)$", re.MULTILINE)
ENTRIES = [pytest.param(entry, id=entry.name) for entry in COMMANDS]


def _command(entry: CommandEntry) -> click.Command:
    command: click.Command = importlib.import_module(entry.module).command
    return command


def _verbs(entry: CommandEntry) -> dict[str, click.Command]:
    command = _command(entry)
    if isinstance(command, click.Group):
        return {f"{entry.name} {name}": verb for name, verb in command.commands.items()}
    return {entry.name: command}


def _docs(repository: Any) -> str:
    pages = [repository.root / "README.md", *(repository.root / "docs").rglob("*.md")]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_command_is_what_its_row_says(entry: CommandEntry) -> None:
    command = _command(entry)
    assert command.name == entry.name
    assert entry.section in SECTIONS
    verbs = tuple(command.commands) if isinstance(command, click.Group) else ()
    assert verbs == entry.subcommands
    assert entry.summary[0].isupper()
    assert not entry.summary.endswith(".")


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_command_and_each_option_has_help(entry: CommandEntry) -> None:
    for name, command in {entry.name: _command(entry), **_verbs(entry)}.items():
        assert command.help, name
        silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
        assert silent == [], name


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_command_that_answers_takes_json_and_has_a_schema(entry: CommandEntry) -> None:
    for name, command in _verbs(entry).items():
        takes_json = any("--json" in p.opts for p in command.params)
        assert takes_json is (name in documents()), f"{name}: --json and DOCUMENTS disagree"
        assert takes_json or name == "completion"


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_command_is_documented(repository: Any, entry: CommandEntry) -> None:
    for name in _verbs(entry):
        assert f"sparkproof {name}" in _docs(repository), name


def test_every_document_belongs_to_a_command() -> None:
    for name in documents():
        assert command_of(name.split()) == name
    assert command_of(["receipt"]) == command_of(["no-such"]) == command_of([]) == ""


def test_the_published_schemas_are_those_of_the_types(repository: Any) -> None:
    folder = repository.root / "schemas"
    made = {file_name(name): render(schema) for name, schema in schemas().items()}
    published = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    stale = [name for name in {*made, *published} if made.get(name) != published.get(name)]
    assert sorted(stale) == [], "run `make schemas`"


def test_the_documentation_lists_every_schema_and_exit_code(repository: Any) -> None:
    text = (repository.root / "docs" / "json.md").read_text(encoding="utf-8")
    assert [name for name in documents() if f"`{schema_name(name)}`" not in text] == []
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert rows == {int(code) for code in ExitCode}


def test_every_exit_code_is_exercised(repository: Any) -> None:
    text = (repository.root / "tests/e2e/test_cli_frame.py").read_text(encoding="utf-8")
    exercised = {int(code) for code in re.findall(r"^\s+\((\d+), ", text, re.MULTILINE)}
    assert exercised == {int(code) for code in ExitCode}


def test_every_command_a_hint_names_exists(repository: Any) -> None:
    known = {page.topic for page in (list_topics().result or pytest.fail("no topics")).pages}
    broken = []
    for module in repository.modules():
        for node in ast.walk(module.tree):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            for typed in _TYPED.findall(node.value):
                words = typed.split()
                if words[0].startswith("-") or words[0].isupper():
                    continue
                named = command_of(words) or (words[0] in {e.name for e in COMMANDS})
                topic = words[1] if words[0] == "explain" and len(words) == 2 else ""
                if not named or (topic and not topic.isupper() and topic not in known):
                    broken.append(f"{module.name}:{node.lineno} {typed}")
    assert broken == []


def _unknown_options(typed: str) -> list[str]:
    """Options before ``--`` that the command does not have."""
    words = re.split(r" -- | [|&>#;] ?", typed)[0].split()
    entry = next((e for e in COMMANDS if e.name == words[0]), None)
    if entry is None or entry.name == "explain":  # which takes flags of vLLM as topics
        return []
    name = command_of(words)
    command = _verbs(entry)[name] if name else _command(entry)
    known = {opt for item in command.params for opt in (*item.opts, *item.secondary_opts)}
    given = [word.split("=")[0] for word in words[1:] if word.startswith("-") and word[1:]]
    return [f"{typed}: {word}" for word in given if word not in {*known, "--help", "-h"}]


def test_every_option_that_the_documentation_or_a_hint_shows_exists(repository: Any) -> None:
    pages = _docs(repository).replace("\\\n", " ")
    shown = [*_TYPED.findall(pages), *_SHOWN.findall(pages)]
    for module in repository.modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                shown += [*_TYPED.findall(node.value), *_SHOWN.findall(node.value)]
    assert len(shown) > 100
    assert [fault for typed in shown for fault in _unknown_options(typed)] == []


def _dependencies(repository: Any) -> list[str]:
    project = tomllib.loads((repository.root / "pyproject.toml").read_text(encoding="utf-8"))
    return [re.split(r"[<>=~! \[]", item)[0] for item in project["project"]["dependencies"]]


def test_dependencies_are_what_is_imported(repository: Any) -> None:
    imported = set()
    plugin = "src/sparkproof/testing/fixtures.py"  # whoever loads it has pytest
    for module in (m for m in repository.modules() if m.name != plugin):
        for node in ast.walk(module.tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            imported |= {name.split(".")[0] for name in names}
    foreign = imported - set(sys.stdlib_module_names) - {"sparkproof"}
    declared = {_IMPORTED_AS.get(name, name) for name in _dependencies(repository)}
    assert foreign == declared - {"pip"}  # pip is run, not imported


def test_every_dependency_has_its_reason(repository: Any) -> None:
    needs = _dependencies(repository)
    text = (repository.root / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [need for need in needs if not any(f"`{need}`" in row for row in rows)] == []
