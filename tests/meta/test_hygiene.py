"""Nothing of the machine it was written on, no index address, no stray host."""

from __future__ import annotations

import re
from typing import Any

_INDEX_HOSTS = tuple(f"{name}.{top}" for name, top in (("pypi", "org"), ("pythonhosted", "org")))
_MACHINE = re.compile(r"(?<![\w.*-])/(?:root|work)/\w|\bshared/(?:reference|cases|samples|gpu)\b")
_URL = re.compile(rb"https?://([A-Za-z0-9.-]+)")
_BINARY = (
    *(".so", ".a", ".o", ".cubin", ".fatbin", ".entry", ".head", ".gz", ".whl", ".png"),
    ".safetensors",
    ".zst",
)
_INDEX_OPTION = re.compile(r"(?:--index-url|--extra-index-url|--find-links)[ =]+https?://")


def _texts(repository: Any) -> list[tuple[str, str]]:
    return [
        (path.relative_to(repository.root).as_posix(), path.read_text(encoding="utf-8"))
        for path in repository.files()
        if path.suffix not in _BINARY
    ]


def test_no_file_names_an_index(repository: Any) -> None:
    found = [
        f"{name}: {host}"
        for name, text in _texts(repository)
        for host in _INDEX_HOSTS
        if host in text
    ]
    found += [name for name, text in _texts(repository) if _INDEX_OPTION.search(text)]
    assert found == []


def test_no_file_names_a_machine(repository: Any) -> None:
    found = []
    for name, text in _texts(repository):
        found += [f"{name}: {m[0]}" for m in _MACHINE.finditer(text)]
        if str(repository.root) in text:
            found.append(f"{name}: the checkout's own path")
    assert found == []


def test_lock_files_carry_hashes_and_no_address(repository: Any) -> None:
    for path in (repository.root / "requirements").glob("*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if "://" in line or line.startswith("-")], path.name
        pins = [line for line in lines if "==" in line]
        assert len(pins) > 5
        text = "\n".join(lines)
        assert text.count("--hash=sha256:") >= len(pins)


_WHOLE = "tests/data/tiny-qwen3/model.safetensors"  # a checkpoint for the live tier


def test_no_large_file_is_committed(repository: Any) -> None:
    small = 512 * 1024
    large = [p for p in repository.files() if p.stat().st_size > small]
    assert [p for p in large if p != repository.root / _WHOLE] == []
