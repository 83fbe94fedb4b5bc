"""Every fact has a source and a date, every rule a page, every page a rule."""

from __future__ import annotations

import ast
import datetime
import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sparkproof.facts import book
from sparkproof.facts.field_records import known_issues
from sparkproof.facts.line_rules import line_rules

_RULE = re.compile(r"[a-z][a-z0-9]*/[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_UNDATED = {"glossary.toml"}


def _data(repository: Any) -> list[tuple[str, dict[str, Any]]]:
    root = repository.src / "facts" / "data"
    return [
        (path.relative_to(root).as_posix(), tomllib.loads(path.read_text(encoding="utf-8")))
        for path in sorted(root.rglob("*.toml"))
    ]


def _tables(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value:  # type: ignore[attr-defined]
        if isinstance(item, dict | list):
            yield from _tables(item)


def test_every_file_says_where_it_is_from_and_when_somebody_looked(repository: Any) -> None:
    trouble = []
    today = datetime.datetime.now(datetime.UTC).date()
    for name, content in _data(repository):
        tables = list(_tables(content))
        sourced = [table for table in tables if "source" in table or "sources" in table]
        if not sourced and name not in _UNDATED:
            trouble.append(f"{name}: no source")
        for table in tables:
            checked = table.get("checked", today)
            if not isinstance(checked, datetime.date) or checked > today:
                trouble.append(f"{name}: checked {checked}")
            given = [table["source"]] if "source" in table else table.get("sources", ["?"])
            if not given or not all(str(source).strip() for source in given):
                trouble.append(f"{name}: an empty source")
        if sourced and not any("checked" in table for table in tables):
            trouble.append(f"{name}: no date")
    assert trouble == []


def test_every_folder_of_facts_is_read_by_some_code(repository: Any) -> None:
    text = "\n".join(m.path.read_text(encoding="utf-8") for m in repository.modules())
    data = repository.src / "facts" / "data"
    unread = [p.name for p in data.iterdir() if p.is_dir() and any(p.rglob("*.toml"))]
    unread += [p.name for p in data.glob("*.toml")]
    assert [name for name in unread if f'"{name}' not in text] == []


def test_devices_and_words_are_unique(repository: Any) -> None:
    names = [n for d in book.hardware().values() for n in (d.id, *d.aliases)]
    assert len(names) == len(set(names))
    assert len(book.hardware()) == len(list((repository.src / "facts/data/hardware").iterdir()))
    for device in book.hardware().values():
        assert device.capability
    assert {"capability", "memory_gb", "bandwidth_gb_per_s"} <= set(book.hardware()["gb10"].facts)
    listed = dict(_data(repository))["glossary.toml"]["words"]
    assert len(listed) == len(book.glossary())


def test_what_a_word_points_to_exists(repository: Any) -> None:
    known = {w.lower() for w in (*book.glossary(), *book.rules(), *book.hardware())}
    broken = [
        f"{word.word} -> {other}"
        for word in book.glossary().values()
        for other in word.see
        if other.lower() not in known
    ]
    assert broken == []


def test_a_rule_lies_where_its_id_says(repository: Any) -> None:
    root = repository.src / "facts" / "data" / "rules"
    paths = {p.relative_to(root).with_suffix("").as_posix() for p in root.rglob("*.toml")}
    assert paths == set(book.rules())
    for rule in book.rules().values():
        assert _RULE.match(rule.id)
        assert rule.title == rule.title[0].lower() + rule.title[1:] or rule.title[:2].isupper()
        assert not rule.title.endswith(".")
        assert len(rule.explain.split()) > 5, rule.id
        assert rule.remedy.strip(), rule.id


_IDENTIFIER = re.compile(r"[^A-Za-z]|[A-Z]\w*[A-Z0-9_]|CUDA|Marlin|FlashInfer")


def test_a_remedy_is_written_as_messages_are() -> None:
    told = [(rule.id, rule.remedy) for rule in book.rules().values()]
    told += [(item.record.id, item.record.remedy) for item in known_issues()]
    told += [(item.id, row) for item in book.signatures().values() for row in item.remedy]
    wrong = [
        (name, text)
        for name, text in told
        if (text[:1].isupper() and not _IDENTIFIER.match(text))
        or (text.rstrip().endswith(".") and not text.rstrip().endswith("..."))
    ]
    assert wrong == []


def _called(node: ast.Call) -> str:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.lower().lstrip("_")


def _used_rules(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        given = [k.value for k in node.keywords if k.arg == "rule"]
        if "finding" in _called(node):
            given += node.args[:1]
        for value in given:
            yield from (
                part
                for part in ast.walk(value)
                if isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and _RULE.match(part.value)
            )


def test_every_rule_that_fires_has_a_page(repository: Any) -> None:
    missing = [
        f"{module.name}:{constant.lineno} {constant.value!r}"
        for module in repository.modules()
        for constant in _used_rules(module.tree)
        if constant.value not in book.rules()
    ]
    assert missing == []


def test_every_page_belongs_to_a_rule_that_can_fire(repository: Any) -> None:
    strings = {
        node.value
        for module in repository.modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    } | {item.rule for item in line_rules().rules}
    idle = []
    for rule in book.rules():
        family, slug = rule.split("/")
        if rule not in strings and not {f"{family}/", slug} <= strings:
            idle.append(rule)
    assert idle == []


def test_a_repository_path_given_as_source_exists(repository: Any) -> None:
    broken = [
        f"{name}: {table['source']}"
        for name, content in _data(repository)
        for table in _tables(content)
        if str(table.get("source", "")).startswith(("docs/", "tests/", "benchmarks/"))
        and not (repository.root / str(table["source"]).split()[0].rstrip(",;")).exists()
    ]
    assert broken == []


def test_every_fixture_has_its_birth_certificate(repository: Any) -> None:
    data = repository.root / "tests" / "data"
    certified: dict[Path, str] = {}
    for manifest in sorted(data.rglob("MANIFEST.toml")):
        for row in _tables(tomllib.loads(manifest.read_text(encoding="utf-8"))):
            place = row.get("path", row.get("file"))
            for path in manifest.parent.glob(place) if place else ():
                certified[path] = row.get("sha256", "")
    makers = {".py", ".cu", ".sh", ".toml", ".md"}
    fixtures = [p for p in repository.files() if data in p.parents and p.suffix not in makers]
    assert [str(p.relative_to(data)) for p in fixtures if p not in certified] == []
    changed = [
        str(path.relative_to(data))
        for path, digest in certified.items()
        if digest and hashlib.sha256(path.read_bytes()).hexdigest() != digest
    ]
    assert changed == []
