"""A changed shape ends in the right answer or in an `Unknown`, never in an empty list."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sparkproof.core.condition import TRUE, Opaque, leaves
from sparkproof.core.observations.release_surface import Oracle, ReleaseSurface
from sparkproof.core.unknown import Unknown
from sparkproof.release import read_surface
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_source import CUDA, FLASHINFER, LINEAR, ORACLE, RANKING, source_tree

MOE, DENSE, ATTENTION = "moe/nvfp4", "dense/nvfp4", "attention/backend"
FAST = "vllm/model_executor/layers/fused_moe/experts/fast.py"


def read(path: str, change: Callable[[str], str] | None, wanted: str) -> ReleaseSurface:
    files = source_tree()
    if change is None:
        del files[path]
    else:
        before = files[path].decode()
        after = change(before)
        assert after != before, "the mutation changes nothing"
        files[path] = after.encode()
    return read_surface(MemoryArtifact(files), oracles=(wanted,))


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def unknown_about(surface: ReleaseSurface, topic: str) -> Unknown:
    found = [item for item in surface.unknowns if item.topic == f"select/{topic}"]
    for oracle in surface.oracles:
        found.extend(item for item in oracle.unknowns if item.topic == f"select/{topic}")
    assert found, "neither an answer nor an Unknown"
    return found[0]


@pytest.mark.parametrize(
    ("path", "change", "topic"),
    [
        pytest.param(
            ORACLE,
            replaced("def select_nvfp4_moe_backend", "def choose_nvfp4_moe_backend"),
            MOE,
            id="selection function renamed",
        ),
        pytest.param(ORACLE, None, MOE, id="oracle file gone"),
        pytest.param(ORACLE, replaced("def ", "deff "), MOE, id="oracle file is no Python"),
        pytest.param(
            ORACLE,
            replaced("NvFp4MoeBackend.CRAWL,\n    ]", "NvFp4MoeBackend.GONE,\n    ]"),
            MOE,
            id="order names a member that is not there",
        ),
        pytest.param(
            ORACLE,
            replaced("    AVAILABLE_BACKENDS = [", "    AVAILABLE_BACKENDS = third_party(["),
            MOE,
            id="half of a call",
        ),
        pytest.param(
            ORACLE,
            replaced("prefer_ladder(AVAILABLE_BACKENDS)", "mystery(AVAILABLE_BACKENDS)"),
            MOE,
            id="wrapper that is defined nowhere",
        ),
        pytest.param(RANKING, None, MOE, id="file of the wrapper gone"),
        pytest.param(
            ORACLE,
            replaced("    clamped = {", "    torch.reorder(AVAILABLE_BACKENDS)\n    clamped = {"),
            MOE,
            id="edited in place by something outside",
        ),
        pytest.param(
            RANKING,
            replaced("    items = items.copy()\n", "    while items:\n        items.pop()\n"),
            MOE,
            id="edited in place by a loop that is not followed",
        ),
        pytest.param(
            RANKING,
            replaced("items.insert(0, items.pop(first))", "items.sort(key=hash)"),
            MOE,
            id="wrapper that reorders in a way that is not followed",
        ),
        pytest.param(
            LINEAR,
            replaced("PlatformEnum.CUDA: [", "PlatformEnum.CUDA: build_list(["),
            DENSE,
            id="dense list is half of a call",
        ),
        pytest.param(
            LINEAR,
            replaced(
                "_POSSIBLE_NVFP4_KERNELS: dict = {", "_POSSIBLE_NVFP4_KERNELS: dict = load() or {"
            ),
            DENSE,
            id="dense list comes from a call",
        ),
        pytest.param(CUDA, None, ATTENTION, id="platform file gone"),
        pytest.param(
            CUDA,
            replaced(
                "return [AttentionBackendEnum.EAGER, AttentionBackendEnum.LAZY]",
                "return sorted(AttentionBackendEnum)",
            ),
            ATTENTION,
            id="attention order is computed",
        ),
    ],
)
def test_an_unknown_shape_is_an_unknown_that_names_its_place(
    path: str, change: Callable[[str], str] | None, topic: str
) -> None:
    surface = read(path, change, topic)
    oracle = surface.oracle(topic)
    assert oracle is None or not oracle.branches
    unknown = unknown_about(surface, topic)
    assert unknown.why
    assert ".py" in unknown.where


def automatic(oracle: Oracle | None) -> list[str]:
    assert oracle is not None
    last = next(item for item in oracle.branches if item.when == TRUE)
    return list(dict.fromkeys(item.backend for item in last.attempts))


def test_a_new_member_appears_everywhere_it_is_used() -> None:
    def change(text: str) -> str:
        text = text.replace(
            '    HIDDEN = "HIDDEN"\n', '    HIDDEN = "HIDDEN"\n    NEW = "New one"\n'
        )
        text = text.replace(
            '        "rocket":', '        "new": NvFp4MoeBackend.NEW,\n        "rocket":'
        )
        text = text.replace(
            "NvFp4MoeBackend.ROCKET,\n        NvFp4MoeBackend.SLED",
            "NvFp4MoeBackend.NEW,\n        NvFp4MoeBackend.ROCKET,\n        NvFp4MoeBackend.SLED",
        )
        return text.replace(
            "    elif backend == NvFp4MoeBackend.HIDDEN:",
            "    elif backend in (NvFp4MoeBackend.HIDDEN, NvFp4MoeBackend.NEW):",
        )

    oracle = read(ORACLE, change, MOE).oracle(MOE)
    assert oracle is not None
    assert {item.name: item.label for item in oracle.members}["NEW"] == "New one"
    assert {item.name: item.targets for item in oracle.cli}["new"] == ("NEW",)
    assert {item.backend for item in oracle.dispatch} >= {"NEW"}
    assert "NEW" in automatic(oracle)


def test_an_order_moved_into_a_function_is_followed() -> None:
    def change(text: str) -> str:
        head, rest = text.split("    AVAILABLE_BACKENDS = [", 1)
        names, tail = rest.split("    ]\n", 1)
        function = f"def order_of():\n    return [{names}    ]\n\n"
        position = head.index("def select_nvfp4_moe_backend")
        return (
            head[:position]
            + function
            + head[position:]
            + "    AVAILABLE_BACKENDS = order_of()\n"
            + tail
        )

    assert automatic(read(ORACLE, change, MOE).oracle(MOE)) == ["LADDER", "ROCKET", "SLED", "CRAWL"]


def test_flag_values_may_stand_for_lists_and_calls() -> None:
    def change(text: str) -> str:
        text = text.replace('"sled": NvFp4MoeBackend.SLED', '"sled": [NvFp4MoeBackend.SLED]')
        text = text.replace(
            '"ladder": NvFp4MoeBackend.LADDER',
            '"ladder": list(_TWO), "rest": NvFp4MoeBackend.CRAWL',
        )
        return text.replace(
            "def map_nvfp4_backend",
            "_TWO = (NvFp4MoeBackend.LADDER, NvFp4MoeBackend.CRAWL)\n\ndef map_nvfp4_backend",
        )

    oracle = read(ORACLE, change, MOE).oracle(MOE)
    assert oracle is not None
    found = {item.name: item.targets for item in oracle.cli}
    assert found["sled"] == ("SLED",)
    assert found["ladder"] == ("LADDER", "CRAWL")


@pytest.mark.parametrize(
    ("path", "change", "wanted"),
    [
        pytest.param(FAST, None, MOE, id="file of the classes gone"),
        pytest.param(
            FAST, replaced("class RocketExperts", "class RacketExperts"), MOE, id="class renamed"
        ),
        pytest.param(
            FAST,
            replaced("has_flashinfer_rocket()\n", "has_flashinfer_rocket() and mystery(p)\n"),
            MOE,
            id="rule asks an unknown function",
        ),
        pytest.param(
            FAST,
            replaced("            p.is_cuda()", "            p.is_marvellous()"),
            MOE,
            id="rule asks an unknown predicate",
        ),
        pytest.param(
            FLASHINFER,
            replaced("def has_flashinfer_rocket", "def has_flashinfer_racket"),
            MOE,
            id="gate function renamed",
        ),
    ],
)
def test_an_unknown_rule_leaves_its_candidate_open(
    path: str, change: Callable[[str], str] | None, wanted: str
) -> None:
    surface = read(path, change, wanted)
    oracle = surface.oracle(wanted)
    assert oracle is not None
    predicate = surface.predicate("RocketExperts", "is_supported_config")
    conditions = [item.accept for branch in oracle.branches for item in branch.attempts]
    if predicate is not None:
        conditions.extend(item.when for item in predicate.decisions)
    opaque = [leaf for item in conditions for leaf in leaves(item) if isinstance(leaf, Opaque)]
    assert opaque or surface.unknowns


def test_a_renamed_question_leaves_every_candidate_open() -> None:
    path = "vllm/model_executor/layers/fused_moe/modular_kernel.py"
    surface = read(path, replaced("def is_supported_config", "def is_fit"), MOE)
    oracle = surface.oracle(MOE)
    assert oracle is None or all(
        any(isinstance(leaf, Opaque) for leaf in leaves(attempt.accept))
        for branch in oracle.branches
        for attempt in branch.attempts
    )
