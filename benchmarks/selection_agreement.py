"""Predicted backends beside those that boots logged, release by release around the build.

    python benchmarks/selection_agreement.py [--write docs/selection-agreement.md]

Inputs: ``tests/data/selection/boots.toml``. Most of these logs come from development builds, so
each pick is predicted from both releases around it (shipped surfaces; the wheel out of the cache
where none is shipped), with and without nvcc and ninja. *agree*: all of these predictions name
what was logged. *disagree*: all name one other. *cannot be told*: they differ, or there is none.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.checkpoint.read import read_checkpoint
from sparkproof.core.deployment import Box
from sparkproof.core.errors import SparkproofError
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.proof import LayerProof
from sparkproof.facts.book import find_device
from sparkproof.facts.surfaces import load_surface, shipped_surfaces
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.release.surface import read_surface
from sparkproof.usecases.looking import see_surface
from sparkproof.usecases.prove.alternatives import prove_branches

ROOT = Path(__file__).parents[1]
BOOTS = ROOT / "tests" / "data" / "selection" / "boots.toml"
GB10 = "gb10"
AGREE, DISAGREE, UNTOLD = "agree", "disagree", "cannot be told"


class Observed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A backend that a log names.

    Attributes:
        role: layer class; `scheme` of those that are meant ("" for all of them).
        explained: why the prediction differs ("" where it should not).
    """

    role: str
    backend: str
    scheme: str = ""
    explained: str = ""


class Boot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One boot; `between` are the releases around its build."""

    id: str
    source: str
    date: str
    release: str
    between: tuple[str, ...]
    config: str
    args: tuple[str, ...]
    observed: tuple[Observed, ...]
    device: str = GB10
    quantization: str = ""
    missing: str = ""


class Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of boots."""

    source: str
    checked: object
    boot: tuple[Boot, ...]


class Row(NamedTuple):
    """One pick of one boot."""

    boot: Boot
    observed: Observed
    predicted: str
    answer: str
    why: str


def load_boots() -> tuple[Boot, ...]:
    """All boots of the file."""
    return msgspec.toml.decode(BOOTS.read_bytes(), type=Book).boot


def profile_of(boot: Boot) -> CheckpointProfile:
    """The checkpoint, from its metadata and its quantization block."""
    config = json.loads((ROOT / boot.config).read_text(encoding="utf-8"))
    if boot.quantization:
        inline = boot.quantization.startswith("{")
        text = boot.quantization if inline else (ROOT / boot.quantization).read_text("utf-8")
        block = json.loads(text)
        config["quantization_config"] = block.get("quantization_config", block)
    return read_checkpoint({"config.json": json.dumps(config).encode()}, boot.id)


@cache
def surface_of(version: str) -> ReleaseSurface | None:
    """The shipped surface, else the cached wheel's; None where neither is at hand."""
    if version in shipped_surfaces():
        return load_surface(version)
    try:
        _, artifact = open_artifact(f"vllm=={version}", offline=True)
    except SparkproofError:
        return None
    try:
        return read_surface(artifact)
    finally:
        artifact.close()


def predictions(boot: Boot, wanted: Observed) -> dict[str, list[str]]:
    """What each way through each release gives for a pick: backend to where it holds."""
    found: dict[str, list[str]] = {}
    profile = profile_of(boot)
    for version in boot.between:
        surface = surface_of(version)
        if surface is None:
            found.setdefault("", []).append(f"{version} is not at hand")
            continue
        look = see_surface(surface, find_device(boot.device).capability).look_at(profile, {})
        arguments = parse_selection_args(boot.args)
        for branch in prove_branches(look, Box(), arguments):
            told = ", ".join(f"{k.partition(':')[2]}: {v}" for k, v in branch.assumptions.items())
            for layer in branch.layers:
                if layer.subject == wanted.role and _asked(layer, wanted.scheme):
                    place = f"{version}{f' ({told})' if told else ''}"
                    found.setdefault(_pick(layer), []).append(place)
    return found


def _asked(layer: LayerProof, scheme: str) -> bool:
    meant = scheme in ("", layer.scheme)
    return meant and layer.prediction is not None and bool(layer.prediction.oracle)


def _pick(layer: LayerProof) -> str:
    assert layer.prediction is not None
    return layer.prediction.selected or layer.prediction.error or layer.prediction.reason


def rows() -> Iterator[Row]:
    """Every observed backend with its answer."""
    for boot in load_boots():
        for observed in boot.observed:
            found = predictions(boot, observed)
            if not boot.between:
                yield Row(boot, observed, "", UNTOLD, boot.missing)
            elif len(found) != 1:
                ways = "; ".join(f"{pick}: {', '.join(at)}" for pick, at in found.items())
                yield Row(boot, observed, ways, UNTOLD, _differing(found, observed.backend))
            else:
                (pick,) = found
                answer = AGREE if pick == observed.backend else DISAGREE
                why = observed.explained if answer == DISAGREE else ""
                yield Row(boot, observed, pick, answer, why)


def _differing(found: dict[str, list[str]], logged: str) -> str:
    """What is missing: the tools of the box, or more than that."""
    places = found.get(logged, [])
    if places and all("yes" in place for place in places):
        return "as logged if nvcc and ninja were there, which the log does not say"
    return "the releases around it differ"


def table(found: list[Row]) -> str:
    """The page."""
    counts = Counter(row.answer for row in found)
    explained = sum(row.answer == DISAGREE and bool(row.why) for row in found)
    told = f"{counts[AGREE]} agree, {counts[DISAGREE]} disagree ({explained} explained), "
    told += f"{counts[UNTOLD]} cannot be told, of {len(found)} picks in "
    boots = {row.boot.id: row.boot.device for row in found}
    elsewhere = Counter(find_device(name).title for name in boots.values() if name != GB10)
    told += f"{len(boots)} boots"
    told += "".join(f"; {count} of them on {name}" for name, count in elsewhere.items()) + "."
    lines = [
        "# Predicted and logged backends",
        "",
        "`python benchmarks/selection_agreement.py --write docs/selection-agreement.md`, from",
        "`tests/data/selection/boots.toml` (each boot with its source). Most logs come from",
        "development builds: each pick is predicted from both releases around the build, with and",
        "without nvcc and ninja, and counts as agreement only where all of these name it. The",
        "checkpoints are reconstructions from described facts.",
        "",
        told,
        "",
        "| boot | build | asked | layer class | logged | predicted | answer | why |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        asked = ", ".join(row.boot.between)
        predicted = row.predicted if row.answer != AGREE else ""
        lines.append(
            f"| {_name(row.boot)} | {row.boot.release} | {asked} | {row.observed.role} "
            f"| {row.observed.backend} | {predicted} | {row.answer} | {row.why} |"
        )
    return "\n".join(lines) + "\n"


def _name(boot: Boot) -> str:
    return boot.id if boot.device == GB10 else f"{boot.id} ({find_device(boot.device).title})"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    page = table(list(rows()))
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
