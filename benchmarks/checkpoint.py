"""How long the profile of a large local checkpoint takes: headers only, never the weights.

usage: python benchmarks/checkpoint.py [--shards 200] [--tensors N]

The checkpoint is made here: a mixture of experts in NVFP4 whose headers are real and whose
tensors are holes in sparse files.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sparkproof.testing.checkpoints import FP4, FP4_LOCAL, compressed_tensors, config_group
from sparkproof.testing.safetensors import shard
from sparkproof.usecases.checkpoint_reading import read_from

_ROUNDS = 5
_HIDDEN, _INNER, _EXPERTS, _LIMIT_S = 2048, 768, 128, 1.0
_CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": _HIDDEN,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": _EXPERTS,
    "num_experts_per_tok": 8,
    "max_position_embeddings": 40960,
}
Tensors = dict[str, tuple[str, tuple[int, ...]]]


def quantized(name: str, rows: int, columns: int) -> Tensors:
    return {
        f"{name}.weight_packed": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (rows, columns // 16)),
        f"{name}.weight_global_scale": ("F32", (1,)),
        f"{name}.input_global_scale": ("F32", (1,)),
    }


def layer(at: int) -> Tensors:
    prefix = f"model.layers.{at}"
    found: Tensors = {f"{prefix}.mlp.gate.weight": ("BF16", (_EXPERTS, _HIDDEN))}
    for word in "qkvo":
        found |= quantized(f"{prefix}.self_attn.{word}_proj", 4096, _HIDDEN)
    for expert in range(_EXPERTS):
        for word in ("gate", "up", "down"):
            sides = (_HIDDEN, _INNER) if word == "down" else (_INNER, _HIDDEN)
            found |= quantized(f"{prefix}.mlp.experts.{expert}.{word}_proj", *sides)
    return found


def build(folder: Path, shards: int, layers: int) -> int:
    tensors: Tensors = {
        "model.embed_tokens.weight": ("BF16", (151936, _HIDDEN)),
        "lm_head.weight": ("BF16", (151936, _HIDDEN)),
    }
    for at in range(layers):
        tensors |= layer(at)
    block = compressed_tensors(config_group(FP4, FP4_LOCAL), ignore=("lm_head", r"re:.*mlp.gate$"))
    config = {**_CONFIG, "num_hidden_layers": layers, "quantization_config": block}
    (folder / "config.json").write_text(json.dumps(config))
    items = list(tensors.items())
    size = -(-len(items) // shards)
    weight_map: dict[str, str] = {}
    for number in range(shards):
        name = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        piece = dict(items[number * size : (number + 1) * size])
        head, whole = shard(piece)
        with (folder / name).open("wb") as file:
            file.write(head)
            file.truncate(whole)
        weight_map |= dict.fromkeys(piece, name)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return len(items)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=200)
    parser.add_argument("--layers", type=int, default=48)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = build(folder, options.shards, options.layers)
        times, busy = [], []
        for _ in range(_ROUNDS):
            start, cpu = time.perf_counter(), time.process_time()
            found = read_from(name).profile
            times.append(time.perf_counter() - start)
            busy.append(time.process_time() - cpu)
        assert found.stored is not None
        assert (found.stored.tensors, found.stored.notes) == (count, ())
        start = time.perf_counter()
        run = [sys.executable, "-m", "sparkproof.cli.main", "checkpoint", name]
        subprocess.run(run, check=False, stdout=subprocess.DEVNULL)
        command = time.perf_counter() - start
    size = found.stored.bytes / 1e9
    print(f"{options.shards} shards, {count:,} tensors, {size:,.0f} GB")
    print(f"profile {min(times):.2f} s at best, {sorted(times)[_ROUNDS // 2]:.2f} s in the middle")
    print(f"of it on the processor {min(busy):.2f} s, whatever else the machine does")
    print(f"command {command:.2f} s, start of Python included")
    print("within" if min(times) < _LIMIT_S else "over", f"{_LIMIT_S} s")


if __name__ == "__main__":
    main()
