"""Which layers of latent attention keep an indexer's keys."""

from __future__ import annotations

import json

import pytest

from sparkproof.checkpoint.state_layout import read_state_layout
from sparkproof.core.observations.state_layout import StateKind, StateLayout

LATENT = {
    "model_type": "glm_moe_dsa",
    "num_hidden_layers": 9,
    "num_attention_heads": 8,
    "hidden_size": 64,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "index_head_dim": 128,
    "num_nextn_predict_layers": 1,
}


def read(**more: object) -> StateLayout:
    return read_state_layout(json.dumps(LATENT | more).encode(), name="m")


def indexers(layout: StateLayout) -> tuple[int, int]:
    """How many the layers and the draft layers have."""
    groups = (layout.layers, layout.drafts)
    target, drafts = (
        sum(item.count for item in group if item.kind is StateKind.INDEXER) for group in groups
    )
    return target, drafts


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, (0, 0)),
        ({"index_topk": 2048}, (9, 1)),
        # vLLM's rule: layers 0, 1, 5 of nine choose for themselves.
        ({"index_topk": 2048, "index_topk_freq": 4}, (3, 1)),
        ({"index_topk": 2048, "index_topk_freq": 4, "index_skip_topk_offset": 3}, (4, 1)),
        ({"index_topk": 2048, "index_topk_pattern": "FFSSSFSSS"}, (3, 1)),
        ({"index_topk": 2048, "index_topk_pattern": "FS"}, (8, 1)),
    ],
)
def test_layers_that_take_over_a_choice_keep_no_keys(
    more: dict[str, object], expected: tuple[int, int]
) -> None:
    assert indexers(read(**more)) == expected


def test_the_indexer_of_another_type_is_refused_by_name() -> None:
    layout = read(model_type="longcat_flash", index_topk=2048)
    assert [item.why for item in layout.unknowns] == ["an indexer of model type `longcat_flash`"]
    assert layout.layers == ()
