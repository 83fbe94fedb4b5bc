"""Random architectures through vLLM's own planner, release by release, against ours.

``python -m benchmarks.kv_oracle --python ENV/bin/python 0.33.0=DIR 0.28.0=DIR …``: ENV is an
environment that can import vLLM (``tests/live/make_env.sh`` makes one), DIR a folder with the
Python files of that release's wheel. Nothing is imported here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

from sparkproof.core.errors import UsageError
from sparkproof.core.observations.state_layout import (
    AttentionShape,
    LayerState,
    RecurrentShape,
    StateKind,
    StateLayout,
)
from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.facts.memory_book import rules_of
from sparkproof.memory.align import page_spec
from sparkproof.memory.kv_plan import KvShape
from sparkproof.memory.pages import PageSpec
from sparkproof.memory.settings import Device, Settings, resolve_settings

SCRIPT = Path(__file__).parents[1] / "tests" / "live" / "ask_vllm.py"
GB10 = Device("12.1", 121.69)
KINDS = {
    StateKind.FULL: "full",
    StateKind.MLA: "mla",
    StateKind.SLIDING: "sliding",
    StateKind.CHUNKED: "chunked",
}


def random_layout(dice: random.Random) -> StateLayout:
    layers = [_attention(dice, StateKind.FULL)]
    shape = dice.choice(["plain", "windows", "chunks", "hybrid", "hybrid", "drafted", "latent"])
    if shape in ("windows", "drafted"):
        layers.append(_attention(dice, StateKind.SLIDING))
    if shape == "chunks":
        layers.append(_attention(dice, StateKind.CHUNKED))
    if shape == "latent":
        layers = [LayerState(StateKind.MLA, dice.randint(1, 60), AttentionShape(1, 576, 0))]
    if shape in ("hybrid", "drafted"):
        layers.append(_recurrent(dice))
    if shape == "drafted":
        layers.append(_attention(dice, StateKind.FULL))
    dice.shuffle(layers)
    return StateLayout("random", "", "", tuple(layers), max_position=1 << 20)


def _attention(dice: random.Random, kind: StateKind) -> LayerState:
    heads, dim = dice.choice([1, 2, 4, 8]), dice.choice([64, 128, 256])
    window = dice.choice([128, 1024, 4096]) if kind is StateKind.SLIDING else 0
    chunk = 8192 if kind is StateKind.CHUNKED else 0
    return LayerState(kind, dice.randint(1, 48), AttentionShape(heads, dim, dim, window, chunk))


def _recurrent(dice: random.Random) -> LayerState:
    kind = dice.choice([StateKind.GDN, StateKind.MAMBA2])
    heads, dim = dice.choice([16, 32, 64]), dice.choice([64, 128])
    shape = RecurrentShape(heads, dim, 128, dice.choice([8, 16]), 4, heads * dim)
    return LayerState(kind, dice.randint(1, 60), recurrent=shape)


def random_args(dice: random.Random) -> ServeArgs:
    tokens = dice.choice([0, 0, 1, 3, 15])
    return ServeArgs(
        max_model_len=dice.choice([4096, 40960, 131072, 262144]),
        kv_dtype=dice.choice(["fp8", "bfloat16"]),
        prefix_caching=dice.choice([True, False]),
        ssm_dtype=dice.choice(["auto", "float32"]),
        speculation=Speculation(tokens, "ngram") if tokens else None,
        batched_tokens=dice.choice([2048, 8192, 65536]),
        hybrid_manager=dice.random() > 0.1,
    )


def asked(layout: StateLayout, settings: Settings, shape: KvShape, pool: int) -> dict[str, Any]:
    checkpointed = settings.rules.words("checkpoint_kinds")
    layers: list[dict[str, Any]] = []
    for layer in layout.layers:
        spec = page_spec(layer, settings, shape.alignment)
        one = _state(spec, settings, checkpointed) if layer.recurrent else _pages(layer, spec)
        layers += [one] * layer.count
    return {
        "length": settings.max_model_len,
        "state_mode": settings.state_mode,
        "speculative": settings.speculative_tokens,
        "in_flight": settings.in_flight_tokens,
        "hybrid_manager": settings.hybrid_manager,
        "pool": pool,
        "layers": layers,
    }


def _state(spec: PageSpec, settings: Settings, checkpointed: frozenset[str]) -> dict[str, Any]:
    extra = spec.kind.value in checkpointed or (
        spec.kind is StateKind.GDN and settings.checkpoint_tokens > 0
    )
    return {
        "kind": "state",
        "block": spec.block,
        "bytes": spec.state_bytes,
        "padded": spec.padded,
        "checkpoint": extra,
    }


def _pages(layer: LayerState, spec: PageSpec) -> dict[str, Any]:
    shape = layer.attention
    assert shape is not None
    sides = 1 if layer.kind is StateKind.MLA else 2
    element = spec.token_bytes // (shape.kv_heads * shape.head_dim * sides)
    return {
        "kind": KINDS[layer.kind],
        "block": spec.block,
        "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "element": element,
        "window": shape.window,
        "chunk": shape.chunk,
    }


def compare(
    version: str, source: Path | None, python: Path, count: int, extra: str = ""
) -> tuple[int, int]:
    """Cases that agree and cases that do not; prints the first few of the latter.

    Args:
        source: folder with the release's Python files; None for what `python` has installed.
    """
    dice = random.Random(version)
    rules = rules_of(version)
    cases: list[dict[str, Any]] = []
    ours = []
    while len(cases) < count:
        layout, args = random_layout(dice), random_args(dice)
        pool = dice.randint(1 << 30, 100 << 30)
        settings = resolve_settings(layout, args, rules, GB10)
        try:
            shape = KvShape(layout, settings)
        except UsageError:
            continue
        blocks = shape.blocks(pool)
        tokens, concurrency = shape.printed(blocks, settings.max_model_len)
        groups = sorted(group.layers for group in shape.grouping.groups)
        cases.append(asked(layout, settings, shape, pool))
        ours.append((blocks, tokens, groups, concurrency))
    old = rules.text("token_line") == "blocks-over-groups"
    wrong = 0
    for case, mine, theirs in zip(cases, ours, ask(source, python, cases, extra), strict=True):
        key = "old_tokens" if old else "tokens"
        seen = (
            theirs.get("blocks"),
            theirs.get(key),
            sorted(theirs.get("groups", [])),
            theirs.get("concurrency"),
        )
        if seen != mine:
            wrong += 1
            if wrong <= 3:
                print(f"  {version}: ours {mine}, vLLM {seen} {theirs.get('refused', '')}")
                kinds = [(layer["kind"], layer["block"]) for layer in case["layers"]]
                print(f"    {sorted(set(kinds))} of {len(kinds)} layers")
    return count - wrong, wrong


def ask(
    source: Path | None, python: Path, cases: list[dict[str, Any]], extra: str
) -> list[dict[str, Any]]:
    path = os.pathsep.join(str(item) for item in (source, extra) if item)
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "VLLM_TARGET_DEVICE": "cpu",
        "VLLM_LOGGING_LEVEL": "ERROR",
    }
    done = subprocess.run(
        [str(python), str(SCRIPT)],
        input=json.dumps({"cases": cases}),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    answers: list[dict[str, Any]] = json.loads(done.stdout[done.stdout.index('{"version"') :])[
        "answers"
    ]
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="+", metavar="VERSION=DIR")
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--extra-path", default="", help="packages that an old release wants")
    options = parser.parse_args()
    for release in options.releases:
        version, _, folder = release.partition("=")
        right, wrong = compare(
            version, Path(folder), options.python, options.count, options.extra_path
        )
        print(f"{version}: {right} of {right + wrong} architectures agree in every number")


if __name__ == "__main__":
    main()
