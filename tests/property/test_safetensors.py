"""Any bytes end in a header or in one error, soon; laid-out tensors come back as they were."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.core.errors import FormatError
from sparkproof.formats.safetensors import parse_header, read_header
from sparkproof.testing.checkpoints import QWEN3_MOE, config_files
from sparkproof.testing.safetensors import pack_header, shard

DTYPES = st.sampled_from(["U8", "I8", "F8_E4M3", "F8_E8M0", "BF16", "F32", "I32"])
SHAPES = st.lists(st.integers(0, 64), max_size=4).map(tuple)
LEAVES = st.sampled_from(
    [
        "weight",
        "weight_packed",
        "weight_scale",
        "weight_scale_2",
        "weight_global_scale",
        "input_scale",
        "qweight",
        "qzeros",
        "scales",
        "g_idx",
        "bias",
        "k_scale",
        "gate_up_proj_blocks",
        "gate_up_proj_scales",
        "gate_up_proj",
    ]
)
MODULES = st.sampled_from(
    [
        "lm_head",
        "model.embed_tokens",
        "model.layers.0.self_attn.q_proj",
        "model.layers.0.mlp.experts.0.gate_proj",
        "model.layers.1.mlp.experts.7.gate_proj",
        "model.layers.0.mlp.experts",
        "model.layers.0.mlp.gate",
        "mtp.fc",
        "visual.blocks.0.attn.qkv",
        "",
        "..",
        "model.layers.99999999999999999999.mlp.up_proj",
    ]
)
NAMES = st.builds(lambda m, leaf: f"{m}.{leaf}", MODULES, LEAVES) | st.text(max_size=12).filter(
    lambda name: name != "__metadata__"
)
TENSORS = st.dictionaries(NAMES, st.tuples(DTYPES, SHAPES), max_size=12)
SAMPLE, SAMPLE_SIZE = shard(
    {
        "model.layers.0.mlp.up_proj.weight_packed": ("U8", (64, 32)),
        "model.layers.0.mlp.up_proj.weight_scale": ("F8_E4M3", (64, 4)),
        "lm_head.weight": ("BF16", (128, 64)),
    }
)


class Source:
    """A file of any bytes and any claimed size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self.size_bytes = size

    def read_at(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]

    def close(self) -> None:
        """Nothing to close."""


def look(data: bytes, size: int) -> None:
    try:
        found = read_header(Source(data, size), "x.safetensors")
    except FormatError as error:
        assert error.where == "x.safetensors"  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
        return
    profile = read_checkpoint(config_files(QWEN3_MOE), "x", [found])
    assert profile.stored is not None
    assert profile.stored.bytes == found.data_bytes


@given(TENSORS)
@settings(max_examples=200)
def test_what_is_laid_out_comes_back(tensors: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    head, size = shard(tensors)
    found = parse_header(head, size, "x.safetensors")
    assert {n: (t.dtype, t.shape) for n, t in found.tensors.items()} == tensors
    look(head, size)


@given(st.integers(0, len(SAMPLE) - 1), st.binary(max_size=4), st.integers(-20, 20))
@settings(max_examples=300)
def test_any_damage(at: int, junk: bytes, more: int) -> None:
    look(SAMPLE[:at] + junk + SAMPLE[at + 1 :], SAMPLE_SIZE + more)
    look(SAMPLE[:at], SAMPLE_SIZE)
    look(SAMPLE[:at], at)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["dtype", "shape", "data_offsets", "__metadata__", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, st.integers(0, 1 << 70))
@settings(max_examples=200)
def test_any_json(value: Any, size: int) -> None:
    look(pack_header(json.dumps(value).encode()), size)


@given(st.binary(max_size=64), st.integers(0, 1 << 64))
def test_any_bytes(data: bytes, size: int) -> None:
    look(data, size)
