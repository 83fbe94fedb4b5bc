"""Regenerate the shipped surfaces from the wheels that the user's index serves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path

import msgspec
from packaging.version import Version

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.clock import SystemClock
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.adapters.pip import PipRunner, run_pip
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Progress
from sparkproof.core.target import Target
from sparkproof.facts.surfaces import (
    HISTORY,
    INDEX,
    Shipped,
    pack_surface,
    trace_history,
    unpack_surface,
)
from sparkproof.release import read_surface

OLDEST = Version("0.20.0")
_TIMEOUT_S = 120.0
_VERSIONS = re.compile(r"Available versions: (?P<list>.+)")


def stable_versions(run: PipRunner = run_pip) -> tuple[str, ...]:
    """Stable releases that the index has, from the oldest that is shipped, oldest first.

    Raises:
        UnreachableError: pip gives no list.
    """
    result = run(["index", "versions", "vllm"], _TIMEOUT_S)
    found = _VERSIONS.search(result.stdout)
    if found is None:
        raise UnreachableError("pip lists no versions of vllm", hint="is the index reachable?")
    versions = [Version(item.strip()) for item in found["list"].split(",")]
    kept = sorted(item for item in versions if item >= OLDEST and not item.is_prerelease)
    return tuple(map(str, kept))


def read_release(
    reference: str, *, cache: ArtifactCache | None = None, progress: Progress | None = None
) -> tuple[Shipped, bytes, ReleaseSurface]:
    """One surface, packed, with its entry in the index.

    Raises:
        FormatError: something of a release could not be read: then nothing may be shipped.
        UsageError, UnreachableError: as they say.
    """
    subject, artifact = open_artifact(reference, Target(), cache=cache, progress=progress)
    try:
        surface = read_surface(artifact)
    finally:
        artifact.close()
    unread = (*surface.unknowns, *(u for oracle in surface.oracles for u in oracle.unknowns))
    if unread:
        first = unread[0]
        raise FormatError(f"not all could be read: {first.why}", where=first.where)
    packed, content = pack_surface(surface)
    today: date = SystemClock().now().date()
    entry = Shipped(
        version=surface.version,
        file=f"{surface.version}.mp.zst",
        content=content,
        packed=sha256(packed).hexdigest(),
        wheel=subject.filename,
        wheel_sha256=subject.sha256,
        read=today.isoformat(),
    )
    return entry, packed, surface


def ship_surfaces(
    folder: Path, versions: Sequence[str] = (), *, progress: Progress | None = None
) -> tuple[Shipped, ...]:
    """Write the surfaces of `versions` (all stable ones when empty) and the index of them.

    Raises:
        FormatError, UsageError, UnreachableError: as they say.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / INDEX
    known = (
        msgspec.json.decode(index.read_bytes(), type=tuple[Shipped, ...]) if index.exists() else ()
    )
    entries = {item.version: item for item in known}
    for version in versions or stable_versions():
        entry, packed, _ = read_release(
            version if "/" in version else f"vllm=={version}", progress=progress
        )
        (folder / entry.file).write_bytes(packed)
        entries[entry.version] = entry
    ordered = sorted(entries.values(), key=lambda item: Version(item.version))
    index.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")
    surfaces = (unpack_surface((folder / i.file).read_bytes(), i.file) for i in ordered)
    (folder / HISTORY).write_bytes(msgspec.json.encode(trace_history(surfaces)) + b"\n")
    return tuple(ordered)
