"""`upgrade` over all neighbouring releases, with real deployments, against a list of known changes.

Most of the list was written from a separate reading of the wheels (enums, defaults, rules by
syntax tree), some rows were added after the tool had shown them and confirmed in the sources
(docs/upgrade.md says which). Whatever is reported and not on it is printed as unexpected, whatever
is on it and not reported as missed.

    python benchmarks/upgrade_matrix.py            table and time
    python benchmarks/upgrade_matrix.py --all      every change that is reported
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sparkproof.core.deployment import Deployment
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.upgrade import Bite, Change
from sparkproof.usecases.fit.inputs import read_deployment
from sparkproof.usecases.upgrade.command import upgrade
from sparkproof.usecases.upgrade.sides import shipped_surface, shipped_versions

DATA = Path(__file__).parents[1] / "tests" / "data" / "upgrade"
FIVE = ("seed-q36", "q36-tuner", "js-q38", "q35-fp8", "dj-super")


class Known(NamedTuple):
    """A change of one release: how it is felt, of what, and whom it touches ("*": everybody)."""

    release: str
    bite: Bite
    subject: str
    touches: tuple[str, ...]
    reading: str


W, K, S, B, L = Bite.WONT_START, Bite.KERNEL, Bite.SIZE, Bite.BEHAVIOUR, Bite.LIFTED
HYBRIDS = ("dj-super", "js-q38", "q35-fp8", "q36-ngram", "q36-tuner", "seed-marlin", "seed-q36")
TOOLS = ("gemma26", "js-q38", "minimax-awq", "q35-fp8", "seed-q36")
DRAFTING = ("dj-super", "q3-medusa", "q35-fp8", "q36-ngram", "q36-tuner", "seed-q36")
CACHED = (
    "dj-super", "gemma26", "js-q38", "minimax-awq", "q3-medusa", "q35-fp8", "q36-ngram",
    "q36-tuner", "seed-marlin",
)  # fmt: skip
KNOWN = (
    Known("0.20.1", S, "kv line", HYBRIDS, "tokens are printed as concurrency times length"),
    Known("0.22.0", B, "VLLM_NVFP4_GEMM_BACKEND", ("seed-marlin",), "marked for removal"),
    Known("0.22.0", B, "VLLM_USE_FLASHINFER_MOE_FP4", ("seed-marlin",), "marked for removal"),
    Known("0.22.0", B, "VLLM_USE_FLASHINFER_MOE_FP16", ("q35-fp8",), "marked for removal"),
    Known(
        "0.22.0",
        L,
        "dense/force-marlin-both",
        ("dj-super", "q36-ngram", "seed-marlin"),
        "--linear-backend is new",
    ),
    Known("0.22.0", L, "field/eager-needed", ("seed-marlin",), "said of releases before"),
    Known("0.24.0", B, "VLLM_NVFP4_GEMM_BACKEND", ("seed-marlin",), "gone"),
    Known("0.24.0", B, "VLLM_USE_FLASHINFER_MOE_FP4", ("seed-marlin",), "gone"),
    Known("0.24.0", B, "VLLM_USE_FLASHINFER_MOE_FP16", ("q35-fp8",), "gone"),
    Known(
        "0.24.0",
        B,
        "--tool-call-parser",
        ("gemma26", "js-q38", "q35-fp8", "seed-q36"),
        "engine parsers of Qwen and Gemma",
    ),
    Known(
        "0.24.0",
        B,
        "--reasoning-parser",
        ("gemma26", "js-q38", "q35-fp8", "seed-q36"),
        "adapters of Qwen and Gemma",
    ),
    Known("0.24.0", W, "--tool-call-parser", ("minimax-awq",), "the parser of MiniMax-M1 is gone"),
    Known("0.24.0", K, "experts fp8-block", ("q35-fp8",), "DeepGEMM takes 12.x"),
    Known("0.24.0", K, "draft-experts fp8-block", ("q35-fp8",), "DeepGEMM takes 12.x"),
    Known(
        "0.26.0",
        B,
        "prefix caching",
        ("dj-super", "js-q38", "q36-ngram", "seed-marlin"),
        "on for hybrids by itself",
    ),
    Known(
        "0.26.0",
        B,
        "prefix-cache mode",
        ("dj-super", "js-q38", "q36-ngram", "seed-marlin"),
        "follows from it",
    ),
    Known(
        "0.26.0",
        S,
        "kv pool",
        ("dj-super", "js-q38", "q36-ngram", "seed-marlin"),
        "states of the prefixes take room",
    ),
    Known("0.26.0", S, "block size", ("dj-super",), "pages of the new mode"),
    Known("0.27.0", W, "--max-num-partial-prefills", ("q3-medusa",), "gone"),
    Known("0.27.0", L, "history/42084", ("seed-q36",), "said of releases before"),
    Known("0.28.0", W, "--calculate-kv-scales", ("q3-medusa",), "gone"),
    Known("0.28.0", B, "prefix-cache mode", ("dj-super", "seed-marlin"), "align by default"),
    Known("0.28.0", S, "kv pool", ("dj-super", "seed-marlin"), "align keeps fewer states"),
    Known("0.28.0", S, "block size", ("dj-super",), "pages of the new mode"),
    Known(
        "0.29.0",
        B,
        "model runner",
        (
            "dj-super",
            "gemma26",
            "js-q38",
            "minimax-awq",
            "q35-fp8",
            "q36-tuner",
            "seed-marlin",
            "seed-q36",
        ),
        "V2 unless something is unsupported; n-gram and medusa still are",
    ),
    Known("0.29.0", S, "captured graphs", DRAFTING, "uniform decode sizes"),
    Known("0.29.0", B, "VLLM_TEST_FORCE_FP8_MARLIN", ("q36-ngram",), "gone"),
    Known("0.29.0", K, "attention fp8-channel", ("q36-ngram",), "the variable forced Marlin"),
    Known("0.29.0", K, "linear-attention fp8-channel", ("q36-ngram",), "the same"),
    Known("0.29.0", K, "experts nvfp4-w4a4", ("q36-ngram",), "the same"),
    Known("0.30.0", B, "--prefix-cache-retention-interval", CACHED, "0 by default"),
    Known("0.30.0", B, "VLLM_PREFIX_CACHE_RETENTION_INTERVAL", ("q3-medusa",), "gone"),
    Known("0.32.0", W, "--mamba-cache-mode", ("q36-ngram",), "`all` is gone"),
    Known("0.32.0", B, "model runner", ("q36-ngram",), "n-gram runs on V2"),
    Known("0.33.0", W, "--speculative-config.method", ("q3-medusa",), "medusa is gone"),
    Known("0.33.0", B, "async scheduling", ("q36-ngram", "q3-medusa"), "the rule covers V1 only"),
    Known("0.33.0", K, "experts fp8-block", ("q35-fp8",), "Qwen3.5 experts leave DeepGEMM out"),
    Known("0.33.0", K, "draft-experts fp8-block", ("q35-fp8",), "the same"),
    Known("0.33.0", B, "--tool-strict-level", TOOLS, "unset by default"),
)


class Row(NamedTuple):
    """One reported change."""

    release: str
    deployment: str
    change: Change


@cache
def surface(version: str) -> ReleaseSurface | None:
    return shipped_surface(version)


def deployments() -> list[Deployment]:
    paths = sorted(p for p in DATA.glob("*.toml") if p.name != "MANIFEST.toml")
    return [read_deployment(path) for path in paths]


def reported() -> Iterator[Row]:
    asked = deployments()
    for before, after in pairwise(shipped_versions()):
        report = upgrade(asked, after, present=before, surfaces=surface)
        for item in report.result.deployments if report.result is not None else ():
            yield from (Row(after, item.name, change) for change in item.changes)


def is_known(row: Row, known: Known) -> bool:
    same = (row.release, row.change.bite, row.change.subject)
    return same == (known.release, known.bite, known.subject) and row.deployment in known.touches


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> None:
    rows = list(reported())
    if "--all" in sys.argv:
        for row in rows:
            say(f"{row.release} {row.deployment}: {row.change.bite.value}: {row.change.message}")
    say("| release | what it changes | touches | reported | missed |")
    say("|---|---|---|---|---|")
    for known in KNOWN:
        hits = {row.deployment for row in rows if is_known(row, known)}
        missed = ", ".join(sorted(set(known.touches) - hits)) or "-"
        what = f"{known.bite.value}: {known.subject} ({known.reading})"
        say(f"| {known.release} | {what} | {len(known.touches)} | {len(hits)} | {missed} |")
    others = [row for row in rows if not any(is_known(row, known) for known in KNOWN)]
    say("")
    say(f"{len(rows)} changes reported; not on the list: {len(others)}")
    for (release, bite, subject), count in Counter(
        (r.release, r.change.bite.value, r.change.subject) for r in others
    ).items():
        names = ", ".join(
            r.deployment for r in others if (r.release, r.change.subject) == (release, subject)
        )
        say(f"  {release} {bite}: {subject} ({count}: {names})")
    say(f"five deployments to the newest release: {five():.2f} s")


def five() -> float:
    surface.cache_clear()
    asked = [read_deployment(DATA / f"{name}.toml") for name in FIVE]
    start = time.perf_counter()
    upgrade(asked, shipped_versions()[-1], surfaces=shipped_surface)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
