"""Any damage to options, registries, rules or server is told by an `Unknown`."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.damaged_source import flipped_or_cut, reordered

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError
from sparkproof.formats.cmake_text import parse_cmake
from sparkproof.formats.python_calls import (
    assigned_wording,
    find_calls,
    joined_wording,
    returned_wordings,
    wording,
)
from sparkproof.release import read_surface
from sparkproof.release.arch_list import loose_intersection, runs_on
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_server_source import SERVER_FILES
from sparkproof.testing.vllm_source import source_tree

TREE = source_tree()
PATHS = sorted([*SERVER_FILES, "vllm/envs.py", "vllm/config/cache.py", "vllm/config/kernel.py"])
_CALL = re.compile(r"logger\.(?P<level>info)\(")
PARTS = {
    "models": "models",
    "parsers": "parsers",
    "endpoints": "endpoints",
    "batch_tiers": "batch",
    "env": "env",
    "options": "options",
    "metrics": "metrics",
}


def attempt(files: dict[str, bytes]) -> None:
    try:
        surface = read_surface(MemoryArtifact(files), oracles=("none",), whole=True)
    except FormatError:
        return
    topics = {item.topic for item in surface.unknowns}
    for name, topic in PARTS.items():
        assert getattr(surface, name) or f"release/{topic}" in topics, name
    assert surface.graphs is not None or "release/graphs" in topics


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PATHS), st.data())
def test_flipped_and_cut_sources(path: str, data: st.DataObject) -> None:
    attempt(flipped_or_cut(TREE, path, data))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PATHS), st.data())
def test_lines_moved_doubled_or_dropped(path: str, data: st.DataObject) -> None:
    attempt(reordered(TREE, path, data))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("vllm/config/vllm.py", "A = B\nB = A\nTypes = Literal[Types]\n"),
        ("vllm/config/vllm.py", "class VllmConfig(VllmConfig): pass\n"),
        ("vllm/config/vllm.py", "x = " + "1 << " * 400 + "1\n"),
        ("vllm/config/vllm.py", "class VllmConfig:\n  def use_v2_model_runner(s):\n"
         + "".join("   " + " " * i + f"if s.a{i}:\n" for i in range(60)) + " " * 64 + "return 1\n"),
        ("vllm/model_executor/models/registry.py", "_VLLM_MODELS = {**_VLLM_MODELS}\n"),
        (
            "vllm/entrypoints/launchers/app.py",
            "def build_app(app):\n    build_app(app)\n    app.include_router(build_app)\n",
        ),
        (
            "vllm/entrypoints/common/cli_args.py",
            "class A:\n  def add_cli_args(p):\n    A.add_cli_args(p)\nmake_arg_parser = A\n",
        ),
        ("vllm/envs.py", "environment_variables = {1: 2}\n"),
    ],
    ids=["cycle", "own-base", "shift", "deep", "table", "router", "parser", "numbers"],
)  # fmt: skip
def test_code_made_to_run_for_ever(path: str, text: str) -> None:
    attempt({**TREE, path: text.encode()})


@settings(max_examples=300)
@given(st.text(alphabet="log.er ifo(\"',){}[]#%s\n\\f", max_size=200))
def test_any_text_has_its_calls_found_or_not(text: str) -> None:
    for call in find_calls(f"logger.info({text}\nlogger.info('x')", (_CALL,)):
        wording(call.argument)
        joined_wording(text, call.match.start(), call.argument)
    wording(text)
    assigned_wording(text, len(text), "f")
    returned_wordings(text, "f")


@settings(max_examples=200)
@given(st.text(alphabet='if(se)ndtA${} \n"#[];', max_size=200))
def test_any_cmake_text_parses_or_is_refused(text: str) -> None:
    with contextlib.suppress(FormatError):
        parse_cmake(text, "x")


_ARCHS = st.builds(
    lambda major, minor, suffix: f"{major}.{minor}{suffix}",
    st.integers(7, 13),
    st.integers(0, 9),
    st.sampled_from(["", "a", "f"]),
)


@settings(max_examples=300)
@given(st.lists(_ARCHS, max_size=6), st.lists(_ARCHS, max_size=6), st.booleans())
def test_a_build_runs_only_where_the_user_asked_for_its_generation(
    wanted: list[str], given_archs: list[str], exact_first: bool
) -> None:
    built = loose_intersection(wanted, given_archs, exact_first=exact_first)
    majors = {item.split(".")[0] for item in given_archs}
    assert {item.split(".")[0] for item in built} <= majors
    assert len(set(built)) == len(built)
    for item in built:
        runs_on(item, ComputeCapability(12, 1))
