"""How long a context a config allows: the most that any release makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkproof.checkpoint.limits import Limits, read_limits

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(
    ("config", "limits"),
    [
        ({}, Limits()),
        ({"max_position_embeddings": 4096, "num_attention_heads": 32}, Limits(4096, 4096, 32)),
        ({"text_config": {"max_position_embeddings": 9}, "num_attention_heads": 2}, Limits(9, 9)),
        ({"max_position_embeddings": 9, "n_positions": 7}, Limits(7, 7)),
        ({"max_position_embeddings": 8192, "model_max_length": 131072}, Limits(131072, 131072)),
        ({"num_attention_heads": [8, 4]}, Limits()),
        (
            {"max_position_embeddings": 40960, "rope_scaling": YARN},
            Limits(131072, 0),
        ),
        (
            {"max_position_embeddings": 131072, "rope_parameters": YARN},
            Limits(131072, 131072),
        ),
        (
            {
                "max_position_embeddings": 8,
                "rope_parameters": {"full": {"type": "llama3", "factor": 8}},
            },
            Limits(8, 8),
        ),
        (
            {"max_position_embeddings": 8, "rope_scaling": {"type": "linear", "factor": 2}},
            Limits(16, 0),
        ),
        (
            {"max_position_embeddings": 8, "rope_scaling": {"type": "linear", "factor": "2"}},
            Limits(),
        ),
        (
            {"max_position_embeddings": 64, "rope_scaling": {"type": "longrope"}},
            Limits(64, 0),
        ),
    ],
)
def test_limits(config: dict[str, Any], limits: Limits) -> None:
    assert read_limits(json.dumps(config).encode()) == limits


@pytest.mark.parametrize("config", [b"", b"[]", b"{", b'{"text_config": 3}'])
def test_a_config_that_can_not_be_read_limits_nothing(config: bytes) -> None:
    assert read_limits(config) == Limits()
