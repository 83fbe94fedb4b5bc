"""A package of more files than any release has: what is read of it, and that it is said."""

from __future__ import annotations

import pytest

from sparkproof.release.symbolic import modules
from sparkproof.release.symbolic.modules import ModuleTable
from sparkproof.testing.artifacts import MemoryArtifact


def test_the_rest_is_an_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "MAX_SOURCES", 3)
    files = {f"vllm/m{at}.py": b"" for at in range(4)}
    table = ModuleTable(MemoryArtifact({"vllm/__init__.py": b"", **files}))
    for _ in range(2):
        assert table.sources() == ("vllm/__init__.py", "vllm/m0.py", "vllm/m1.py")
    assert [unknown.why for unknown in table.unknowns] == ["5 source files, of which 3 are read"]


def test_as_many_as_there_may_be_are_all_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "MAX_SOURCES", 2)
    table = ModuleTable(MemoryArtifact({"vllm/__init__.py": b"", "vllm/a.py": b""}))
    assert len(table.sources()) == 2
    assert not table.unknowns
