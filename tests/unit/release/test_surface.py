"""The surface of a small vLLM: orders, classes, flags, rules, pins."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.core.condition import (
    DeviceTest,
    EnvTest,
    Gate,
    Setting,
    leaves,
    render_condition,
)
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import Branch, Oracle, ReleaseSurface
from sparkproof.release import read_surface
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_source import ORACLE, source_tree

ORACLES = ("moe/nvfp4", "dense/nvfp4", "attention/backend")


@pytest.fixture(scope="module")
def surface() -> ReleaseSurface:
    return read_surface(MemoryArtifact(source_tree()), oracles=ORACLES)


def oracle(surface: ReleaseSurface, name: str) -> Oracle:
    found = surface.oracle(name)
    assert found is not None
    assert not found.unknowns
    return found


def order(branch: Branch) -> list[str]:
    return list(dict.fromkeys(attempt.backend for attempt in branch.attempts))


def test_nothing_is_left_unread(surface: ReleaseSurface) -> None:
    assert surface.unknowns == ()
    assert surface.version == "9.9.9"


def test_members_aliases_classes_and_flag_values(surface: ReleaseSurface) -> None:
    found = oracle(surface, "moe/nvfp4")
    assert [item.name for item in found.members if not item.alias_of][-1] == "HIDDEN"
    assert {item.name: item.alias_of for item in found.members}["SLEIGH"] == "SLED"
    assert {item.backend: item.implementations for item in found.dispatch}["SLED"] == (
        "SledBig",
        "SledSmall",
    )
    assert {item.name: item.targets for item in found.cli}["ladder"] == ("LADDER",)
    assert found.listed == ("ROCKET", "SLED", "LADDER", "CRAWL")


def test_every_item_says_where_it_stands(surface: ReleaseSurface) -> None:
    found = oracle(surface, "moe/nvfp4")
    text = source_tree()[ORACLE].decode().splitlines()
    member = next(item for item in found.members if item.name == "LADDER")
    assert "LADDER" in text[member.source.line - 1]
    assert found.source.path == ORACLE
    assert "def select_nvfp4_moe_backend" in text[found.source.line - 1]
    for predicate in surface.predicates:
        assert predicate.source.line > 0


def test_edits_in_place_are_followed_under_their_guards(surface: ReleaseSurface) -> None:
    automatic = [item for item in oracle(surface, "moe/nvfp4").branches if len(order(item)) > 1]
    orders = {tuple(order(item)): render_condition(item.when) for item in automatic}
    assert orders["SLED", "LADDER", "CRAWL", "ROCKET"].endswith("env:VLLM_LATE_ROCKET)")
    assert orders["LADDER", "ROCKET", "SLED", "CRAWL"] == "always"
    assert "9.0" in orders["ROCKET", "SLED", "LADDER", "CRAWL"]


def test_a_failing_edit_is_what_the_release_would_do(surface: ReleaseSurface) -> None:
    """The list was filtered before it is edited: the release itself would raise."""
    errors = [item.error for item in oracle(surface, "moe/nvfp4").branches if not item.attempts]
    assert any(error.startswith("ValueError") and "not in the list" in error for error in errors)


def test_messages_are_the_releases_own(surface: ReleaseSurface) -> None:
    found = oracle(surface, "moe/nvfp4")
    assert "NotImplementedError: nothing fits." in {item.error for item in found.branches}


def test_a_rule_keeps_device_packages_symbols_and_tools_apart(surface: ReleaseSurface) -> None:
    predicate = surface.predicate("RocketExperts", "is_supported_config")
    assert predicate is not None
    asked = set(leaves(predicate.decisions[0].when))
    names = {item.name for item in asked if isinstance(item, Gate)}
    assert names == {
        "package:flashinfer",
        "package:flashinfer_cubin",
        "package:flashinfer.moe",
        "tool:nvcc",
        "tool:ninja",
        "symbol:flashinfer:quantize",
        "symbol:flashinfer.moe:rocket",
    }
    assert [item.reason for item in predicate.decisions] == [
        "kernel does not support this device",
        "kernel does not support {moe.activation}",
        "kernel does not support {weight_key} with {activation_key}",
        "",
    ]


def test_a_rule_is_found_in_the_base_class(surface: ReleaseSurface) -> None:
    crawl = surface.predicate("CrawlExperts", "is_supported_config")
    ladder = surface.predicate("LadderExperts", "is_supported_config")
    assert crawl is not None
    assert ladder is not None
    assert [item.when for item in crawl.decisions] == [item.when for item in ladder.decisions]


def test_forced_kernels_bypass_the_walk(surface: ReleaseSurface) -> None:
    branches = oracle(surface, "dense/nvfp4").branches
    forced = {item.selected: item.when for item in branches if item.selected}
    assert set(forced) == {"SledNvFp4LinearKernel", "LadderNvFp4LinearKernel"}
    assert EnvTest("VLLM_BATCH_INVARIANT") in set(leaves(forced["SledNvFp4LinearKernel"]))
    assert Setting("use_a16") in set(leaves(forced["LadderNvFp4LinearKernel"]))


def test_attention_order_by_capability(surface: ReleaseSurface) -> None:
    found = oracle(surface, "attention/backend")
    walks = [item for item in found.branches if len(item.attempts) > 1]
    assert [order(item) for item in walks] == [["LAZY", "EAGER"], ["EAGER", "LAZY"]]
    assert walks[0].when == DeviceTest("family", 100)
    lazy = walks[0].attempts[0]
    assert Gate("package:flashinfer") in set(leaves(lazy.accept))


def test_a_reason_that_a_function_returns_is_kept(surface: ReleaseSurface) -> None:
    predicate = surface.predicate("EagerBackend", "validate_configuration")
    assert predicate is not None
    found = {item.reason: item.when for item in predicate.decisions}
    assert found["heads are too wide"] == Setting("head_size", ">", 256)


def test_options_variables_and_pins(surface: ReleaseSurface) -> None:
    moe = surface.option("--moe-backend")
    kv = surface.option("--kv-cache-dtype")
    assert moe is not None
    assert kv is not None
    assert (moe.default, moe.closed, moe.normalises) == ("auto", True, True)
    assert not kv.closed
    assert "VLLM_UNRELATED" in surface.env_names
    assert tuple(item.name for item in surface.env) == surface.env_names
    applies = {item.name: item.applies for item in surface.pins}
    assert applies == {
        "torch": True,
        "flashinfer-python": True,
        "flashinfer-cubin": False,
        "b12x": False,
    }
    assert {item.name: item.extra for item in surface.pins}["b12x"] == "b12x"
    assert surface.libraries == ("vllm/_C.abi3.so",)


def test_the_markers_of_another_box() -> None:
    artifact = MemoryArtifact(source_tree())
    surface = read_surface(artifact, target={"platform_machine": "x86_64"}, oracles=("none",))
    assert {item.name: item.applies for item in surface.pins}["flashinfer-cubin"]


def test_a_checkout_reads_like_a_wheel(surface: ReleaseSurface) -> None:
    moved = {f"checkout/{path}": data for path, data in source_tree().items()}
    found = read_surface(MemoryArtifact(moved), oracles=ORACLES)
    assert [len(item.branches) for item in found.oracles] == [
        len(item.branches) for item in surface.oracles
    ]


def test_something_else_is_refused() -> None:
    with pytest.raises(FormatError, match="holds no `vllm` package"):
        read_surface(MemoryArtifact({"sglang/__init__.py": b""}))


def test_the_surface_survives_json(surface: ReleaseSurface) -> None:
    data = msgspec.json.encode(surface)
    assert msgspec.json.decode(data, type=ReleaseSurface) == surface
