"""Real releases: a shipped surface is what its wheel says, and independent counts agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from tests.oracle.changed import Changed

from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Artifact
from sparkproof.facts.surfaces import pack_surface, shipped_surfaces
from sparkproof.release import read_surface

pytestmark = pytest.mark.artifact

RealWheel = Callable[..., Path]
NEWEST = list(shipped_surfaces())[-1]
_FLAG = re.compile(r'"(--[a-z0-9][a-z0-9-]+)"')
_LOG = re.compile(
    r"logger\.(?:debug|info|warning|warn|error|exception|critical)(?:_once)?\(", re.ASCII
)
_OPTION_FILES = re.compile(r"vllm/(engine/arg_utils|entrypoints/\w+/cli_args)\.py\Z")
_LEFT_OUT = ("vllm/third_party/", "vllm/benchmarks/", "vllm/vllm_flash_attn/")


def opened(real_wheel: RealWheel, version: str) -> Artifact:
    _, artifact = open_artifact(str(real_wheel(f"vllm=={version}")), offline=True)
    return artifact


@pytest.fixture(scope="module")
def newest(real_wheel: RealWheel) -> ReleaseSurface:
    artifact = opened(real_wheel, NEWEST)
    try:
        return read_surface(artifact)
    finally:
        artifact.close()


def test_the_shipped_surface_is_what_the_wheel_says(newest: ReleaseSurface) -> None:
    """If this fails after a change of the reader: `make surfaces`."""
    assert pack_surface(newest)[1] == shipped_surfaces()[NEWEST].content


def test_flags_beside_a_search_for_them(real_wheel: RealWheel, newest: ReleaseSurface) -> None:
    """Every flag that stands in the files is read; those that are made of a field's name, and
    the negative ones, stand nowhere."""
    artifact = opened(real_wheel, NEWEST)
    texts = [
        artifact.read(item.path).decode()
        for item in artifact.members()
        if _OPTION_FILES.match(item.path)
    ]
    artifact.close()
    written = {flag for text in texts for flag in _FLAG.findall(text)} - {"--help"}
    read = {name for item in newest.options for name in item.names}
    assert written - read == set()
    unwritten = {item.flag for item in newest.options} - written
    fields = {item.flag for item in newest.options if item.group == "FrontendArgs"}
    assert unwritten <= fields


def test_wording_beside_a_search_for_calls(real_wheel: RealWheel, newest: ReleaseSurface) -> None:
    """At most one call in a hundred has its text from elsewhere (a parameter, an exception)."""
    artifact = opened(real_wheel, NEWEST)
    written: Counter[str] = Counter()
    for item in artifact.members():
        if item.path.endswith(".py") and not item.path.startswith(_LEFT_OUT):
            written[item.path] = len(_LOG.findall(artifact.read(item.path).decode()))
    artifact.close()
    read: Counter[str] = Counter()
    for message in newest.messages:
        if not message.level.startswith("raise"):
            read[message.path] += message.times
    missing = sum(max(0, count - read[path]) for path, count in written.items())
    assert sum(written.values()) > 3000
    assert missing <= sum(written.values()) // 100


@pytest.mark.parametrize("version", ["0.11.0", "0.19.1"])
def test_older_releases_end_in_answers_and_unknowns(real_wheel: RealWheel, version: str) -> None:
    artifact = opened(real_wheel, version)
    surface = read_surface(artifact)
    artifact.close()
    assert surface.version == version
    assert len(surface.options) > 150
    assert len(surface.models) > 200
    assert len(surface.env) > 150
    for item in surface.unknowns:
        assert item.where
        assert item.why


def test_another_project_is_refused(real_wheel: RealWheel) -> None:
    path = real_wheel("bitsandbytes==0.50.2")
    _, artifact = open_artifact(str(path), offline=True)
    with pytest.raises(FormatError, match="holds no `vllm` package"):
        read_surface(artifact)
    artifact.close()


@pytest.mark.parametrize(
    ("path", "old", "new", "topic"),
    [
        ("vllm/entrypoints/common/cli_args.py", "def make_arg_parser", "def build", "options"),
        ("vllm/engine/arg_utils.py", "get_kwargs(CacheConfig)", "kwargs_of('cache')", "options"),
        ("vllm/engine/arg_utils.py", "def get_batch_defaults", "def batch_defaults", "batch"),
        ("vllm/config/vllm.py", "def _set_cudagraph_sizes", "def _set_sizes", "graphs"),
        ("vllm/config/vllm.py", "def use_v2_model_runner", "def use_v3_runner", "runner"),
        ("vllm/model_executor/models/registry.py", "_VLLM_MODELS = {", "_M = {", "models"),
        ("vllm/tool_parsers/__init__.py", "_TOOL_PARSERS_TO_REGISTER = {", "_T = {", "parsers"),
        ("vllm/entrypoints/launchers/app.py", "def build_app", "def make_app", "endpoints"),
        ("vllm/envs.py", "environment_variables: dict", "variables: dict", "env"),
        ("vllm/envs.py", "", "", "env"),
    ],
)
def test_a_changed_part_is_an_unknown(
    real_wheel: RealWheel, path: str, old: str, new: str, topic: str
) -> None:
    artifact = opened(real_wheel, NEWEST)
    text = artifact.read(path).decode()
    assert old in text
    data = text.replace(old, new).encode() if old else None
    changed = cast("Artifact", Changed(artifact, path, data))
    surface = read_surface(changed, oracles=("none",), whole=True)
    artifact.close()
    assert f"release/{topic}" in {item.topic for item in surface.unknowns}
