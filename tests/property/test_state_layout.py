"""Hostile and damaged configs end in one error type."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.checkpoint.state_layout import read_state_layout
from sparkproof.core.errors import FormatError

CONFIGS = Path(__file__).parents[1] / "data" / "memory" / "configs"
NAMES = sorted(path.stem for path in CONFIGS.glob("*.json"))
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 1 << 40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.lists(st.one_of(st.integers(-3, 99), st.text(max_size=6)), max_size=4),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_layout_or_one_error(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        read_state_layout(data)


@settings(max_examples=300)
@given(st.sampled_from(NAMES), st.data())
def test_any_changed_field_is_a_layout_or_one_error(name: str, data: st.DataObject) -> None:
    config: dict[str, Any] = json.loads((CONFIGS / f"{name}.json").read_bytes())
    owner = config.get("text_config", config)
    key = data.draw(st.sampled_from(sorted(owner)))
    if data.draw(st.booleans()):
        owner[key] = data.draw(values)
    else:
        del owner[key]
    try:
        layout = read_state_layout(json.dumps(config).encode(), name=name)
    except FormatError:
        return
    for layer in (*layout.layers, *layout.drafts):
        assert layer.count > 0
        assert (layer.attention is None) == layer.kind.recurrent


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_hidden_layers", 0),
        ("num_hidden_layers", 10**9),
        ("num_key_value_heads", -1),
        ("head_dim", "wide"),
        ("linear_num_value_heads", None),
        ("full_attention_interval", 0),
    ],
)
def test_the_error_names_the_field(field: str, value: object) -> None:
    config = json.loads((CONFIGS / "qwen3.6-35b-a3b.json").read_bytes())
    if value is None:
        del config["text_config"][field]
    else:
        config["text_config"][field] = value
    with pytest.raises(FormatError, match=field):
        read_state_layout(json.dumps(config).encode())
