"""What vLLM's own parser takes and refuses, as the same release is read."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sparkproof.adapters.tree import TreeArtifact
from sparkproof.release import read_surface
from sparkproof.release.serve_line import parse_serve_line

pytestmark = pytest.mark.live
ASK = Path(__file__).with_name("ask_parser.py")
LISTS = [
    ["--attention-backend", "flashinfer"],
    ["--attention-backend", "Flash_Attn"],
    ["--attention-backend", "flash-attn"],
    ["--attention-backend", "auto"],
    ["--attention-backend", "sled"],
    ["--attention-config", '{"backend": "flashinfer"}'],
    ["--attention-config", '{"backend": "sled"}'],
    ["--kv-cache-dtype", "fp8"],
    ["--kv-cache-dtype", "FP8"],
    ["--kv-cache-dtype", "fp4"],
    ["--moe-backend", "MARLIN"],
    ["--moe-backend", "flashinfer-cutlass"],
    ["--moe-backend", "sled"],
    ["--dtype", "BFLOAT16"],
    ["--quantization", "sled"],
    ["--max-model-len", "128k"],
    ["--max-model-len", "1.5K"],
    ["-tp", "two"],
    ["--performance-mode", "sled"],
    ["--no-such-option", "1"],
    ["--compilation-config", '{"cudagraph_mode": "full"}'],
    ["--compilation-config", '{"cudagraph_mode": "fulll"}'],
    ["--compilation-config", '{"cudagraph_modes": "FULL"}'],
    ["--kernel-config", '{"moe_backend": "MARLIN"}'],
    ["--kernel-config", '{"moe_backend": "sled"}'],
    ["--kv-transfer-config", '{"sled": 1}'],
    ["--structured-outputs-config", '{"backendx": "auto"}'],
    ["--speculative-config", '{"method": "mtp", "num-speculative-tokens": 3}'],
    ["--speculative-config", '{"method": "mtp", "num_speculative_token": 3}'],
    ["--hf-overrides", '{"sled": 1}'],
    ["--override-generation-config", '{"sled": 1}'],
]


def test_the_reading_takes_what_the_parser_takes(live_environment: Path) -> None:
    python = live_environment / "bin" / "python"
    done = subprocess.run(
        [python, ASK],
        input=json.dumps(LISTS),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    taken = json.loads(done.stdout.splitlines()[-1])
    (package,) = live_environment.glob("lib/python3*/site-packages")
    surface = read_surface(TreeArtifact(package, "installed"), whole=True)
    read = [parse_serve_line(surface, ("m", *words)).accepted for words in LISTS]
    differ = [words for words, one, other in zip(LISTS, taken, read, strict=True) if one != other]
    assert differ == []
    assert set(taken) == {True, False}
