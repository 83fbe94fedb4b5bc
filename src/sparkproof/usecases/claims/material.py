"""Open what claims are put to: an artifact, read once for every probe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.git import find_pull_request, is_checkout
from sparkproof.adapters.observation_cache import EVERYTHING, ObservationCache
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.claims.material import Landed, Material
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Artifact, Progress
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.unknown import Unknown
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.book import find_device
from sparkproof.facts.claim import Claim
from sparkproof.facts.claim_probes import ArchPresent, FamilyRoutes, parts
from sparkproof.facts.schema import Hardware
from sparkproof.release.surface import read_surface
from sparkproof.usecases.claims.pick import ClaimWalk
from sparkproof.usecases.claims.rows import DEVICE
from sparkproof.usecases.code_reading import read_code
from sparkproof.usecases.wheel import label


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
    opened = open_artifact(
        reference, target, cache=cache, offline=offline, progress=progress, whole=wanted
    )
    memory = ObservationCache(cache, opened[0])
    try:
        yield _read(opened, find_device(DEVICE), wanted, progress, memory)
    finally:
        opened[1].close()


def _read(
    opened: tuple[Subject, Artifact],
    device: Hardware,
    code_wanted: bool,
    progress: Progress | None,
    memory: ObservationCache,
) -> tuple[Subject, Material, tuple[Unknown, ...]]:
    subject, artifact = opened
    code = None
    if code_wanted:  # first, since an image's streams pass once
        at = device.capability
        code = memory.recall(DeviceCode, str(at), lambda: read_code(artifact, at, progress))
    surface = memory.recall(ReleaseSurface, EVERYTHING, lambda: read_surface(artifact))
    if code is None:
        material = Material(
            surface=surface, artifact=artifact, pick=ClaimWalk(), history=_history(artifact)
        )
        return subject, material, surface.unknowns
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
        history=_history(artifact),
    )
    return subject, material, (*surface.unknowns, *code.unknowns)


def _history(artifact: Artifact) -> Callable[[int], Landed] | None:
    """The history of a checkout, where the artifact is one."""
    place = artifact.location
    folder = Path(place.path) if place is not None and place.kind == "tree" else None
    if folder is None or not is_checkout(folder):
        return None

    def look(number: int) -> Landed:
        found = find_pull_request(folder, number)
        return Landed(found.commit, found.subject, found.first_tag, found.shallow)

    return look
