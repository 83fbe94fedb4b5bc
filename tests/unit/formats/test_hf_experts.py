"""Which layers have the experts, in the several ways in which configs tell it."""

from __future__ import annotations

from typing import Any

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.hf_experts import count_experts, has_shared_expert, parse_expert_layers
from sparkproof.formats.json_object import Fields


def layers(count: int = 8, **keys: Any) -> list[int]:
    found = parse_expert_layers(Fields(keys, "config.json"))
    return [at for at in range(count) if found.has(at)]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"first_k_dense_replace": 6}, [6, 7]),
        ({"num_dense_layers": 6}, [6, 7]),
        ({"decoder_sparse_step": 3}, [2, 5]),
        ({"decoder_sparse_step": 3, "mlp_only_layers": [2]}, [5]),
        ({"interleave_moe_layer_step": 4}, [3, 7]),
        ({"expert_layer_period": 4, "expert_layer_offset": 1}, [1, 5]),
        ({"moe_layer_start_index": 2, "moe_layer_end_index": 3}, [2, 3]),
        ({"moe_layers": [1, 5]}, [1, 5]),
        ({"moe_layers_enum": "4, 5,6"}, [4, 5, 6]),
        ({"moe_layer_freq": [0, 1, 1, 0, 0, 0, 0, 1]}, [1, 2, 7]),
        ({"moe_layer_freq": 1, "first_k_dense_replace": 7}, [7]),
    ],
)
def test_layers_with_experts(keys: dict[str, Any], expected: list[int]) -> None:
    assert layers(**keys) == expected


def test_a_list_of_layers_that_is_none() -> None:
    with pytest.raises(FormatError, match="moe_layers_enum"):
        layers(moe_layers_enum="all of them")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"n_routed_experts": 8, "num_experts_per_tok": 2}, 8),
        ({"num_expert_blocks": 16}, 16),
        ({"num_shared_experts": 4, "num_experts_per_token": 2, "zero_expert_num": 8}, 0),
        ({"num_some_experts": 1}, 0),
        ({"num_some_experts": "many"}, 0),
    ],
)
def test_how_many(keys: dict[str, Any], expected: int) -> None:
    assert count_experts(Fields(keys, "config.json")) == expected


def test_a_shared_expert_by_count_by_width_or_layer_by_layer() -> None:
    def shared(**keys: Any) -> bool:
        return has_shared_expert(Fields(keys, "config.json"))

    assert shared(n_shared_experts=1)
    assert shared(shared_intermediate_size=64)
    assert shared(num_shared_experts=[0, 1])
    assert not shared(n_shared_experts=0)
