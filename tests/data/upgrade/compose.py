"""Put a checkpoint's declaration and its layers together, where two fragments hold one each."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE.parent
PAIRS = {
    "q36-nvfp4": ("memory/configs/qwen3.6-35b-a3b.json", "checkpoints/q36-unsloth.json"),
    "q36-fp8": ("memory/configs/qwen3.6-35b-a3b.json", "checkpoints/q36-fp8.json"),
    "super-nvfp4": ("memory/configs/nemotron-3-super-120b.json", "checkpoints/lightning35.json"),
}


def main() -> None:
    for name, (layers, declared) in PAIRS.items():
        config = json.loads((DATA / layers).read_text(encoding="utf-8"))
        other = json.loads((DATA / declared).read_text(encoding="utf-8"))
        config["quantization_config"] = other.get("quantization_config", other)
        text = json.dumps(config, indent=1) + "\n"
        (HERE / "checkpoints" / f"{name}.json").write_text(text, encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        sys.stdout.write(f"{name} {len(text.encode())} {digest}\n")


if __name__ == "__main__":
    main()
