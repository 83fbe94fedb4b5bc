"""Make a small hybrid checkpoint with a draft head: Gated DeltaNet, attention and experts.

    python tests/live/make_hybrid.py OUT

Random weights from a fixed seed, with the tokenizer of tests/data/tiny-qwen3. The head for
multi-token prediction is the attention layer once more. It answers nothing sensible; it is there
for what happens around it: with speculation and prefix caching it boots, says that it is ready,
and dies at the first request (vLLM 0.32.0 for CPUs, seen on 2026-11-30; a kernel that is there on
GPUs only). Runs in the environment of the live tier.
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_TOKENIZER = Path(__file__).parents[1] / "data" / "tiny-qwen3"
_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
_WIDTH, _LAYERS = 128, 4
MTP = ("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}')


def make_model(vocabulary: int) -> Any:
    """Three linear-attention layers, then one of full attention."""
    transformers = import_module("transformers")
    kinds = ["linear_attention"] * (_LAYERS - 1) + ["full_attention"]
    config = transformers.Qwen3NextConfig(
        vocab_size=vocabulary,
        hidden_size=_WIDTH,
        intermediate_size=2 * _WIDTH,
        num_hidden_layers=_LAYERS,
        layer_types=kinds,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
        num_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=_WIDTH,
        shared_expert_intermediate_size=_WIDTH,
        max_position_embeddings=2048,
    )
    return transformers.Qwen3NextForCausalLM(config)


def add_head(folder: Path) -> None:
    """Give the saved checkpoint a head: its last layer, and a projection of both its inputs."""
    torch, safetensors = import_module("torch"), import_module("safetensors.torch")
    path = folder / "model.safetensors"
    weights = safetensors.load_file(path)
    last = f"model.layers.{_LAYERS - 1}."
    head = {
        "mtp.layers.0." + name.removeprefix(last): weights[name].clone()
        for name in weights
        if name.startswith(last)
    }
    half = 0.5 * torch.eye(_WIDTH, dtype=torch.bfloat16)
    head["mtp.fc.weight"] = torch.cat([half, half], dim=1)
    for norm in ("norm", "pre_fc_norm_hidden", "pre_fc_norm_embedding"):
        head[f"mtp.{norm}.weight"] = torch.zeros(_WIDTH, dtype=torch.bfloat16)
    safetensors.save_file({**weights, **head}, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["num_nextn_predict_layers"] = 1
    (folder / "config.json").write_text(json.dumps(config, indent=2))


def main() -> None:
    out = Path(sys.argv[1])
    torch = import_module("torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    words = json.loads((_TOKENIZER / "tokenizer.json").read_text())
    size = 1 + max(
        *words["model"]["vocab"].values(), *(token["id"] for token in words["added_tokens"])
    )
    make_model(size).eval().to(torch.bfloat16).save_pretrained(out)
    for name in _FILES:
        shutil.copy(_TOKENIZER / name, out)
    add_head(out)


if __name__ == "__main__":
    main()
