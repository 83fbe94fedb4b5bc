"""Version and requirements, as the artifact's METADATA states them.

Where the package's own stamp is another version, METADATA was left by another installation: the
stamp is what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.parser import BytesParser
from email.policy import compat32

import msgspec
from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import Pin, Source
from sparkproof.core.ports import Artifact
from sparkproof.core.unknown import Unknown
from sparkproof.formats.package_stamp import stamped_version

MAX_METADATA_BYTES = 1 << 20
_MAX_STAMP_BYTES = 1 << 16
BOX: Mapping[str, str] = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "aarch64",
    "platform_system": "Linux",
    "python_full_version": "3.12.0",
    "python_version": "3.12",
    "sys_platform": "linux",
}
"""The marker environment of a DGX Spark with the Python of vLLM's own images."""


class Metadata(msgspec.Struct, frozen=True):
    """What the METADATA of a release says.

    Attributes:
        unknowns: requirements that could not be read.
    """

    version: str
    source: Source
    pins: tuple[Pin, ...] = ()
    extras: tuple[str, ...] = ()
    python: str = ""
    unknowns: tuple[Unknown, ...] = ()


def read_metadata(artifact: Artifact, package: str, target: Mapping[str, str]) -> Metadata:
    """Version, requirements, extras and Python.

    Raises:
        FormatError: there is no METADATA of the package, or it has no version.
    """
    stamp, stamped = _stamp(artifact, package)
    path = _metadata_path(artifact, package, stamped)
    if path is None:
        raise FormatError(f"no METADATA of {package}", where=artifact.name)
    data = artifact.read(path, limit_bytes=MAX_METADATA_BYTES)
    message = BytesParser(policy=compat32).parsebytes(data, headersonly=True)
    version = str(message.get("Version", "")).strip()
    if not version:
        raise FormatError("METADATA states no version", where=path)
    lines = _lines(data)
    pins: list[Pin] = []
    unknowns: list[Unknown] = []
    source = Source(path, lines.get(version, 1), "Version")
    if stamped and _public(stamped) != _public(version):
        why = f"states {version}, {stamp} {stamped}: requirements are those of another installation"
        unknowns.append(Unknown(where=path, why=why, topic="release/pins"))
        version, source = stamped, Source(stamp, 1, "version")
    for text in message.get_all("Requires-Dist", []):
        line = lines.get(str(text).strip(), 0)
        try:
            pins.append(_pin(str(text), Source(path, line, "Requires-Dist"), target))
        except (InvalidRequirement, ValueError) as error:
            why = f"requirement can't be read: {error}".splitlines()[0]
            unknowns.append(Unknown(where=f"{path}:{line}", why=why, topic="release/pins"))
    return Metadata(
        version=version,
        source=source,
        pins=tuple(pins),
        extras=tuple(str(item).strip() for item in message.get_all("Provides-Extra", [])),
        python=str(message.get("Requires-Python", "")).strip(),
        unknowns=tuple(unknowns),
    )


def _stamp(artifact: Artifact, package: str) -> tuple[str, str]:
    """The path of the package's stamp and its version; both "" where there is none."""
    path = f"{package}/_version.py"
    if not any(member.path == path for member in artifact.members()):
        return "", ""
    data = artifact.read(path, limit_bytes=_MAX_STAMP_BYTES)
    return path, stamped_version(data.decode("utf-8", "replace"))


def _public(version: str) -> str:
    return version.partition("+")[0]


def _metadata_path(artifact: Artifact, package: str, stamped: str) -> str | None:
    """The METADATA of the package; of several, the one that agrees with its stamp."""
    found = [
        member.path
        for member in artifact.members()
        if _is_metadata(member.path.split("/"), package)
    ]
    own = f"-{stamped}.dist-info/"

    def rank(path: str) -> tuple[int, bool, str]:
        return path.count("/"), not stamped or own not in path, path

    return min(found, key=rank, default=None)


def _is_metadata(parts: list[str], package: str) -> bool:
    if parts[-1] == "METADATA" and len(parts) > 1:
        folder = parts[-2]
        return folder.endswith(".dist-info") and folder.split("-")[0].lower() == package
    return parts[-1] == "PKG-INFO" and len(parts) <= 2


def _lines(data: bytes) -> dict[str, int]:
    """Where each header value stands, by the value."""
    found: dict[str, int] = {}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            break
        _, _, value = line.partition(":")
        found.setdefault(value.strip(), number)
    return found


def _pin(text: str, source: Source, target: Mapping[str, str]) -> Pin:
    requirement = Requirement(text)
    marker = requirement.marker
    environment = {**{key: str(value) for key, value in default_environment().items()}, **target}
    marker_text = str(marker) if marker is not None else ""
    return Pin(
        name=canonicalize_name(requirement.name),
        specifier=str(requirement.specifier),
        asks=tuple(sorted(requirement.extras)),
        applies=marker is None or marker.evaluate({**environment, "extra": ""}),
        source=source,
        marker=marker_text,
        extra=_extra(marker_text),
    )


def _extra(marker: str) -> str:
    _, found, rest = marker.partition("extra == ")
    return rest.split()[0].strip("\"'()") if found else ""
