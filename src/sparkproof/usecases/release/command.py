"""What a vLLM release says about itself, for one device, from a version number or an artifact."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import EnvTest, Leaf, Setting, Tri, compare, evaluate
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Progress
from sparkproof.core.report import Report
from sparkproof.core.results.release import BatchDefault, Counted, OracleView, ReleaseResult
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.units import plural
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.facts.surfaces import life_of, load_surface, say_life, shipped_surfaces
from sparkproof.selection.answers import describe_oracles
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.vllm_word import refuse_bare_word

if TYPE_CHECKING:
    from sparkproof.adapters.cache import ArtifactCache

SECTIONS = (
    "oracles",
    "options",
    "env",
    "configs",
    "models",
    "rules",
    "parsers",
    "metrics",
    "endpoints",
    "messages",
    "pins",
)
"""What `--section` takes; ``all`` for every one of them."""
_FIELDS: dict[str, tuple[str, ...]] = {
    "configs": ("configs", "literals"),
    "rules": ("rules", "batch_tiers", "graphs"),
    "pins": ("pins", "extras", "libraries"),
}
_LEAST_SHARE = 0.93
"""CUDA reports less than is sold: firmware and page tables take their part. What a vendor calls
a GB lies between 10^9 and 2^30 bytes; a tier within that span is left open."""


def find_surface(
    reference: str,
    *,
    target: Target | None = None,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
    vllm: str = "",
) -> tuple[ReleaseSurface, Subject | None]:
    """The shipped surface of a version, or that of an artifact.

    Args:
        reference: wheel, tree, sdist or requirement; a bare version is a shipped one.
        vllm: a version whose shipped surface is asked for, in place of a reference.

    Returns:
        The surface, and what it was read from (None for a shipped one).

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    if vllm and reference:
        raise UsageError("a reference and --vllm at once", hint="give one of them")
    version = vllm or _bare_version(reference)
    if version:
        return load_surface(version), None
    from sparkproof.adapters.observation_cache import (  # noqa: PLC0415 - only artifacts pay
        EVERYTHING,
        ObservationCache,
    )
    from sparkproof.adapters.open_artifact import open_artifact  # noqa: PLC0415 - only artifacts
    from sparkproof.release import read_surface  # noqa: PLC0415 - pay for a reader

    refuse_bare_word(reference)
    subject, artifact = open_artifact(
        reference, target, cache=cache, offline=offline, progress=progress
    )
    memory = ObservationCache(cache, subject)
    try:
        return memory.recall(ReleaseSurface, EVERYTHING, lambda: read_surface(artifact)), subject
    finally:
        artifact.close()


def _bare_version(reference: str) -> str:
    """``0.33.0`` of ``0.33.0``; "" for anything that is no plain version."""
    text = reference.strip()
    if text and text[0].isdigit() and all(c.isalnum() or c in ".+" for c in text):
        return text if not text.endswith((".whl", ".gz")) else ""
    return ""


def look_at_release(
    reference: str,
    *,
    device: str = "gb10",
    section: str = "",
    vllm: str = "",
    target: Target | None = None,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[ReleaseResult]:
    """The surface of a release, as an operator wants it.

    Args:
        section: one of `SECTIONS`, ``all``, or "" for the summary.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    if section and section not in (*SECTIONS, "all"):
        raise UsageError(f"no section `{section}`", hint=f"one of {', '.join(SECTIONS)}, all")
    hardware = find_device(device)
    surface, subject = find_surface(
        reference, target=target, cache=cache, offline=offline, progress=progress, vllm=vllm
    )
    wanted = SECTIONS if section == "all" else (section,)
    views = describe_oracles(surface, hardware.capability, rows="oracles" in wanted)
    result = _result(surface, subject, hardware, views, wanted)
    unknowns = (*surface.unknowns, *(u for item in surface.oracles for u in item.unknowns))
    return make_report(
        "release show",
        result,
        verdict=Verdict.INCONCLUSIVE if unknowns else Verdict.PASS,
        summary=_summary(surface, unknowns),
        subjects=(subject,) if subject else (),
        unknowns=unknowns,
        next_steps=_next(surface.version, subject, section),
        facts=(f"hardware/{hardware.id}", "release/layout"),
    )


def _summary(surface: ReleaseSurface, unknowns: tuple[Unknown, ...]) -> str:
    parts = (
        plural(len(surface.oracles), "selection function"),
        plural(len(surface.options), "option"),
        plural(len(surface.env), "variable"),
        plural(len(surface.models), "architecture"),
    )
    left = f"; {plural(len(unknowns), 'thing')} could not be read" if unknowns else ""
    return f"vllm {surface.version or '(no version)'}: {', '.join(parts)}{left}"


def _next(version: str, subject: Subject | None, section: str) -> tuple[str, ...]:
    steps: list[str] = []
    if not section:
        where = version if subject is None else subject.ref
        steps.append(f"sparkproof release {where} --section oracles")
    known = list(shipped_surfaces())
    if version in known and known.index(version):
        before = known[known.index(version) - 1]
        steps.append(f"sparkproof release diff {before} {version}")
    return tuple(steps)


def _result(
    surface: ReleaseSurface,
    subject: Subject | None,
    hardware: Hardware,
    views: tuple[OracleView, ...],
    wanted: tuple[str, ...],
) -> ReleaseResult:
    names = [name for item in wanted for name in _FIELDS.get(item, (item,)) if item]
    fields = {name: getattr(surface, name) for name in names if name != "oracles"}
    return ReleaseResult(
        version=surface.version,
        capability=str(hardware.capability),
        shipped=subject is None,
        sections=_counted(surface),
        batch=batch_default(surface, hardware),
        oracles=views,
        lives=_lives(surface, wanted),
        **fields,
    )


def _lives(surface: ReleaseSurface, wanted: tuple[str, ...]) -> dict[str, str]:
    names = {"options": [o.flag for o in surface.options], "env": list(surface.env_names)}
    found = {
        name: say_life(life_of(section, name))
        for section in ("options", "env")
        if section in wanted
        for name in names[section]
    }
    return {name: said for name, said in found.items() if said}


def _counted(surface: ReleaseSurface) -> tuple[Counted, ...]:
    kinds = Counter(item.kind for item in surface.parsers)
    ending = [item.name for item in surface.env if item.deprecated]
    leaving = [item.flag for item in surface.options if item.deprecated]
    dev = len([item for item in surface.endpoints if item.dev_mode])
    notes = {
        "options": f"{len(leaving)} on their way out" if leaving else "",
        "env": f"{len(ending)} on their way out" if ending else "",
        "parsers": ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
        "endpoints": f"{dev} only in development mode" if dev else "",
    }
    return tuple(
        Counted(name, len(getattr(surface, name)), notes.get(name, "")) for name in SECTIONS
    )


class _Box:
    """What the tests of a batch tier ask of a device."""

    def __init__(self, hardware: Hardware) -> None:
        self.capability: ComputeCapability = hardware.capability
        self._name = hardware.title.lower()
        memory = hardware.facts.get("memory_gb")
        sold = float(memory.value) if memory is not None else 0.0
        self._span = (sold * 1e9 * _LEAST_SHARE, sold * 2**30)

    def leaf(self, item: Leaf) -> Tri:
        """Memory, name and capability are known, nothing else."""
        if isinstance(item, Setting) and item.path == "device_name":
            return Tri.of(str(item.value) in self._name)
        if isinstance(item, Setting) and item.path == "device_memory" and self._span[1]:
            answers = {compare(size, item.op, item.value) for size in self._span}
            return Tri.of(answers.pop()) if len(answers) == 1 else Tri.UNKNOWN
        return Tri.NO if isinstance(item, EnvTest) else Tri.UNKNOWN


def batch_default(surface: ReleaseSurface, hardware: Hardware) -> BatchDefault | None:
    """What a server gets on the device where no batch size is given; None if that is not known."""
    box = _Box(hardware)
    for tier in surface.batch_tiers:
        answer = evaluate(tier.when, box)
        if answer is Tri.NO:
            continue
        return BatchDefault(tier.tokens, tier.sequences, answer is Tri.YES, tier.source)
    return None
