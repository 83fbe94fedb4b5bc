"""Any bytes in any source file end in a surface or in one error, in bounded time."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.damaged_source import flipped_or_cut, reordered

from sparkproof.core.errors import FormatError
from sparkproof.formats.python_source import MAX_SOURCE_BYTES, parse_source
from sparkproof.release import read_surface
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_source import ORACLE, source_tree

TREE = source_tree()
PATHS = sorted(path for path, data in TREE.items() if data)
ORACLES = ("moe/nvfp4", "dense/nvfp4", "attention/backend")


def attempt(files: dict[str, bytes]) -> None:
    try:
        surface = read_surface(MemoryArtifact(files), oracles=ORACLES)
    except FormatError:
        return
    for oracle in surface.oracles:
        assert oracle.branches or oracle.unknowns, "empty, yet it looks like an answer"
    assert len(surface.oracles) + len(surface.unknowns) >= len(ORACLES)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PATHS), st.data())
def test_flipped_and_cut_sources(path: str, data: st.DataObject) -> None:
    attempt(flipped_or_cut(TREE, path, data))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PATHS), st.data())
def test_lines_moved_doubled_or_dropped(path: str, data: st.DataObject) -> None:
    attempt(reordered(TREE, path, data))


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        parse_source(data, "x.py")


@pytest.mark.parametrize(
    "source",
    [
        b"(" * 5000,
        b"x = " + b"-" * 50_000 + b"1",
        b"x = " + b"1+" * 20_000 + b"1",
        b"x = " + b"[" * 150 + b"]" * 150,
        b"# coding: utf-7\nx = 1\n",
        b"\xff\xfe",
        b"x = '\x00'",
        b" " * (MAX_SOURCE_BYTES + 1),
    ],
    ids=["open", "minus", "plus", "nested", "coding", "bom", "nul", "large"],
)
def test_sources_made_to_exhaust(source: bytes) -> None:
    attempt({**TREE, ORACLE: TREE[ORACLE] + b"\n" + source})
    attempt({**TREE, "vllm/quant_keys.py": source})


@pytest.mark.parametrize(
    "body",
    [
        "def prefer_ladder(items):\n    return prefer_ladder(items)\n",
        "def prefer_ladder(items):\n    for a in range(9): pass\n    return items\n",
        "x = y\ny = x\ndef prefer_ladder(items):\n    return x(items)\n",
        "class A(A): pass\ndef prefer_ladder(items):\n    return A.b(items)\n",
        "from vllm.ranking import prefer_ladder\n",
        "def prefer_ladder(items):\n"
        + "".join(f"    if items.q{i}.a: items = items[:]\n" for i in range(40))
        + "    return items\n",
        "def prefer_ladder(items):\n    return [a for a in items "
        + " ".join("for b in items" for _ in range(30))
        + "]\n",
    ],
    ids=["recursion", "range", "name-cycle", "class-cycle", "import-cycle", "paths", "blow-up"],
)
def test_code_made_to_run_for_ever(body: str) -> None:
    attempt({**TREE, "vllm/ranking.py": body.encode()})
