"""The shipped surfaces: whole, honest about what they are not, and quick."""

from __future__ import annotations

import hashlib
from importlib import resources

import pytest

from sparkproof.core.errors import FormatError, UsageError
from sparkproof.facts.surfaces import (
    check_reached,
    known_release,
    life_of,
    load_surface,
    pack_surface,
    say_life,
    shipped_history,
    shipped_surfaces,
    trace_history,
    unpack_surface,
)

FOLDER = resources.files("sparkproof.facts").joinpath("data", "vllm_releases")
VERSIONS = list(shipped_surfaces())
PARTS = (
    "oracles",
    "predicates",
    "options",
    "env",
    "pins",
    "models",
    "configs",
    "literals",
    "batch_tiers",
    "rules",
    "parsers",
    "metrics",
    "endpoints",
    "messages",
)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_file_is_what_the_index_says(version: str) -> None:
    item = shipped_surfaces()[version]
    packed = FOLDER.joinpath(item.file).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == item.packed
    surface = unpack_surface(packed, item.file)
    assert surface.version == version
    assert pack_surface(surface)[1] == item.content


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_missing_and_nothing_unread(version: str) -> None:
    surface = load_surface(version)
    assert [name for name in PARTS if not getattr(surface, name)] == []
    assert surface.graphs is not None
    assert surface.unknowns == ()
    assert [u for oracle in surface.oracles for u in oracle.unknowns] == []


def test_there_is_a_file_for_every_entry_and_no_other() -> None:
    files = {item.name for item in FOLDER.iterdir()}
    assert files == {item.file for item in shipped_surfaces().values()} | {
        "index.json",
        "history.json",
    }
    assert sum(len(FOLDER.joinpath(name).read_bytes()) for name in files) < 6_000_000


@pytest.mark.parametrize(
    ("version", "part"),
    [
        ("99.0.0", "no surface of vLLM 99.0.0 is shipped"),
        ("0.33.1.dev7", "development version"),
        ("0.33.0rc1", "development version"),
        ("0.33.0+cu129", "no surface of the build"),
        ("soon", "is no version"),
    ],
)
def test_another_version_is_never_mapped_to_a_neighbour(version: str, part: str) -> None:
    with pytest.raises(UsageError, match=part) as caught:
        load_surface(version)
    assert caught.value.hint


def test_zeros_of_a_version_may_be_left_out() -> None:
    assert known_release("0.33") == "0.33.0"
    assert load_surface("0.33").version == "0.33.0"


@pytest.mark.parametrize("version", ["99", "0.33.1.dev1", "0.33.1", "0.19.1", "soon"])
def test_what_no_release_bounds_is_refused_with_the_known_ones(version: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_reached(version)
    assert "0.20.0 to 0.33.0" in str(caught.value) or version == "soon"
    assert caught.value.hint
    check_reached("0.19.1" if version == "0.19.1" else "0.33.0.dev5+gabc", oldest="0.19.1")


def test_the_history_is_that_of_the_surfaces() -> None:
    history = shipped_history()
    assert history == trace_history(load_surface(version) for version in VERSIONS)
    assert say_life(life_of("options", "--max-num-partial-prefills")) == "gone since 0.27.0"
    assert say_life(life_of("options", "--moe-backend=flashinfer_b12x")) == "since 0.22.0"
    assert say_life(life_of("env", "VLLM_NVFP4_GEMM_BACKEND")) == "gone since 0.24.0"
    assert say_life(life_of("options", "--port")) == ""
    assert life_of("options", "--no-such") is None


@pytest.mark.parametrize("damage", [b"", b"\x28\xb5\x2f\xfd", b"no zstandard at all"])
def test_damage_is_one_error(damage: bytes) -> None:
    with pytest.raises(FormatError, match="x"):
        unpack_surface(damage, "x.mp.zst")
