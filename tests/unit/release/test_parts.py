"""Options, registries, rules, server and wording of a small vLLM."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import DeviceTest, Setting, leaves, render_condition
from sparkproof.core.observations.release_surface import Option, ReleaseSurface
from sparkproof.release import read_surface
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_server_source import ARG_UTILS, LOGGERS
from sparkproof.testing.vllm_source import source_tree

ORACLES = ("moe/nvfp4", "dense/nvfp4", "attention/backend")
GB10 = ComputeCapability(12, 1)


@pytest.fixture(scope="module")
def surface() -> ReleaseSurface:
    return read_surface(MemoryArtifact(source_tree()), oracles=ORACLES, whole=True)


def option(surface: ReleaseSurface, flag: str) -> Option:
    found = surface.option(flag)
    assert found is not None, flag
    return found


def test_nothing_is_left_unread(surface: ReleaseSurface) -> None:
    assert surface.unknowns == ()


def test_every_registered_option_is_there_with_its_line(surface: ReleaseSurface) -> None:
    assert {item.flag for item in surface.options} == {
        "--headless",
        "--host",
        "--port",
        "--keys",
        "--origins",
        "--moe-backend",
        "--linear-backend",
        "--kv-cache-dtype",
        "--spare",
        "--pool-bytes",
        "--max-len",
        "--enable-reuse",
        "--skip",
        "--overrides",
        "--sled-config",
        "--attention-backend",
        "--old-way",
        "--quiet",
    }
    lines = source_tree()[ARG_UTILS].decode().splitlines()
    quiet = option(surface, "--quiet")
    assert "--quiet" in lines[quiet.source.line - 1]


@pytest.mark.parametrize(
    ("flag", "value", "arity", "default"),
    [
        ("--port", "int", "one", 8000),
        ("--host", "text", "one", None),
        ("--keys", "text", "many", None),
        ("--origins", "json", "one", None),
        ("--spare", "text", "one", "a"),
        ("--pool-bytes", "size", "one", None),
        ("--max-len", "length", "one", None),
        ("--enable-reuse", "none", "none", True),
        ("--skip", "int", "many", None),
        ("--overrides", "mixed", "one", None),
        ("--sled-config", "object", "one", None),
        ("--quiet", "none", "none", False),
    ],
)
def test_type_arity_and_default(
    surface: ReleaseSurface, flag: str, value: str, arity: str, default: object
) -> None:
    found = option(surface, flag)
    assert (found.value, found.arity, found.default) == (value, arity, default)


def test_choices_edits_aliases_and_negatives(surface: ReleaseSurface) -> None:
    assert option(surface, "-s").choices == ("a", "b")
    assert option(surface, "--enable-reuse").negative == ("--no-enable-reuse",)
    assert option(surface, "--sled-config").config == "SledConfig"
    assert option(surface, "-sc").flag == "--sled-config"
    assert option(surface, "--old-way").deprecated.startswith("--old-way is deprecated")
    assert option(surface, "--attention-backend").choices == ("EAGER", "LAZY", "OTHER")
    assert option(surface, "--origins").computed == "['*']"


def test_configuration_classes_and_nested_lists_of_values(surface: ReleaseSurface) -> None:
    sled = surface.config("SledConfig")
    assert sled is not None
    method = sled.field("method")
    assert method is not None
    assert method.choices == ("push", "tow", "double_tow")
    assert method.closed
    pull = surface.literal("PullMethod")
    assert pull is not None
    assert pull.contains == ("TowTypes",)


def test_the_registry_with_rows_that_are_picked(surface: ReleaseSurface) -> None:
    kinds: dict[str, list[str]] = {}
    for item in surface.models:
        kinds.setdefault(item.kind, []).append(item.architecture)
    assert kinds == {
        "text-generation": ["SledForCausalLM", "OtherSled", "LadderForCausalLM"],
        "embedding": ["SledModel", "SledForCausalLM", "OtherSled"],
        "removed": ["RopeForCausalLM"],
    }
    modules = {item.architecture: item.module for item in surface.models}
    assert modules["LadderForCausalLM"] == "vllm.models.ladder"
    assert modules["OtherSled"] == "vllm.model_executor.models.sled"


def test_batch_tiers_know_the_device(surface: ReleaseSurface) -> None:
    assert [(item.tokens, item.sequences, item.offline_tokens) for item in surface.batch_tiers] == [
        (300, 30, 400),
        (100, 10, 200),
    ]
    assert DeviceTest("==", 121) in _parts(surface)
    assert Setting("device_memory", ">=", 70 << 30) in _parts(surface)


def _parts(surface: ReleaseSurface) -> list[object]:
    return list(getattr(surface.batch_tiers[0].when, "items", ())) + [
        getattr(item, "item", None) for item in getattr(surface.batch_tiers[0].when, "items", ())
    ]


def test_async_scheduling_and_the_new_runner(surface: ReleaseSurface) -> None:
    rules = {item.id: item for item in surface.rules}
    default = rules["async-scheduling/default"]
    assert [case.outcome for case in default.cases] == ["off", "off", "on"]
    assert default.cases[0].reason == "Async scheduling is off: the executor can't."
    asked = {leaf.path for leaf in leaves(default.cases[1].when) if isinstance(leaf, Setting)}
    assert "sled_config.method" in asked
    forced = rules["async-scheduling/forced"]
    assert forced.cases[0].outcome == "error"
    runner = rules["model-runner-v2/default"]
    assert [case.outcome for case in runner.cases] == [
        "as VLLM_LATE_ROCKET says",
        "off",
        "off",
        "on",
    ]
    assert runner.lists[0].values == ("SledForCausalLM",)
    unsupported = rules["model-runner-v2/unsupported"]
    assert unsupported.cases[0].reason == "pushing"
    assert "sled_config.method == 'push'" in render_condition(unsupported.cases[0].when)


def test_graph_sizes_and_modes(surface: ReleaseSurface) -> None:
    graphs = surface.graphs
    assert graphs is not None
    assert graphs.cap == "max_num_seqs * 2"
    assert [number for _, number in graphs.ceilings] == [64, 32]
    assert graphs.levels == (("0", "NONE"), ("1", "FULL"))
    assert graphs.default_level == "1"


def test_metrics_in_tuples_and_calls_and_nothing_else(surface: ReleaseSurface) -> None:
    assert {item.name: item.kind for item in surface.metrics} == {
        "vllm:running": "gauge",
        "vllm:drafts": "",
        "vllm:accepted": "",
    }


def test_endpoints_with_prefix_and_development_mode(surface: ReleaseSurface) -> None:
    found = {item.path: (item.methods, item.dev_mode) for item in surface.endpoints}
    assert found == {
        "/v1/models": (("get",), False),
        "/v1/late": (("post",), False),
        "/metrics": (("mount",), False),
        "/reset": (("post",), True),
    }


def test_wording_of_calls_and_of_texts_in_variables(surface: ReleaseSurface) -> None:
    here = {item.text: item.level for item in surface.messages if item.path == LOGGERS}
    assert here == {
        "Pulled %d sleds": "info",
        "The rope is %s": "warning",
        "no dogs at {self.place}": "raise ValueError",
    }


def test_parsers_and_extras(surface: ReleaseSurface) -> None:
    assert [(item.kind, item.name) for item in surface.parsers] == [
        ("tool", "sled"),
        ("reasoning", "rope"),
    ]


def test_selection_alone_leaves_out_what_no_deployment_is_held_against() -> None:
    surface = read_surface(MemoryArtifact(source_tree()), oracles=ORACLES)
    assert surface.options
    assert surface.parsers
    assert {item.path.split("/")[1] for item in surface.messages} == {"config"}
    assert not surface.metrics
    assert not surface.endpoints


def test_what_a_configuration_class_does_to_its_values(surface: ReleaseSurface) -> None:
    sled, loose = surface.config("SledConfig"), surface.config("LooseConfig")
    assert sled is not None
    assert loose is not None
    assert (sled.strict, loose.strict) == (True, False)
    harness = sled.field("harness")
    assert harness is not None
    assert (harness.rewrites, harness.choices, harness.closed) == (
        "upper",
        ("GANG_LINE", "FAN"),
        True,
    )
