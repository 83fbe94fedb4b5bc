"""Open what claims are put to: an artifact, read once for every probe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.open_artifact import open_artifact, reopen
from sparkproof.adapters.progress import NoProgress
from sparkproof.claims.material import Material
from sparkproof.core.ports import Artifact, PassingArtifact, Progress
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.unknown import Unknown
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.book import find_device
from sparkproof.facts.claim import Claim
from sparkproof.facts.claim_probes import ArchPresent, FamilyRoutes, parts
from sparkproof.facts.schema import Hardware
from sparkproof.release.surface import read_surface
from sparkproof.usecases.claim_pick import ClaimWalk
from sparkproof.usecases.wheel import label

DEVICE = "gb10"
"""What claims about device code speak of."""


@contextmanager
def claim_material(
    reference: str,
    claims: Iterable[Claim],
    *,
    device_code: bool = True,
    target: Target | None = None,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Iterator[tuple[Subject, Material, tuple[Unknown, ...]]]:
    """The subject, everything that `claims` may ask of it, and what could not be read.

    Args:
        device_code: read it, if any claim asks; the dearest part.

    Raises:
        UsageError, UnreachableError, FormatError: as they say; FormatError where it holds no vLLM.
    """
    asked = [part for claim in claims for part in parts(claim.probe)]
    wanted = device_code and any(isinstance(part, FamilyRoutes | ArchPresent) for part in asked)
    subject, artifact = open_artifact(
        reference, target, cache=cache, offline=offline, progress=progress, whole=wanted
    )
    try:
        yield _read(subject, artifact, find_device(DEVICE), wanted, progress or NoProgress())
    finally:
        artifact.close()


def _read(
    subject: Subject, artifact: Artifact, device: Hardware, code_wanted: bool, progress: Progress
) -> tuple[Subject, Material, tuple[Unknown, ...]]:
    passing = None
    if code_wanted and isinstance(artifact, PassingArtifact):  # its streams pass once: code first
        passing = read_device_code(artifact, device.capability, progress)
    surface = read_surface(artifact)
    if not code_wanted:
        material = Material(surface=surface, artifact=artifact, pick=ClaimWalk())
        return subject, material, surface.unknowns
    location = artifact.location
    doors = [lambda: reopen(location)] if location else []
    code = passing or read_device_code(artifact, device.capability, progress, more_doors=doors)
    entries = [e for library in code.libraries for c in library.containers for e in c.entries]
    entries += [item.entry for item in code.loose]
    has_code = bool(entries)
    material = Material(
        surface=surface,
        routes={item.family: item for item in route_families(code, device.capability)}
        if has_code
        else None,
        archs=frozenset(map(label, entries)) if has_code else None,
        artifact=artifact,
        pick=ClaimWalk(),
    )
    return subject, material, (*surface.unknowns, *code.unknowns)
