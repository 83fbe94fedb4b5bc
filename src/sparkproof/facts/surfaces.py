"""Surfaces of released versions, shipped as generated data for who has only a version number."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import resources
from typing import TypeVar

import msgspec
import zstandard
from packaging.version import InvalidVersion, Version

from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.observations.release_parts import Message
from sparkproof.core.observations.release_surface import ReleaseSurface

T = TypeVar("T")
INDEX = "index.json"
HISTORY = "history.json"
_FOLDER = ("data", "vllm_releases")
_LEVEL = 19
_LIMIT_BYTES = 64 << 20
"""The surface of vLLM 0.33.0 has 5.8 MB before it is packed."""


class Shipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One shipped surface.

    Attributes:
        content: SHA-256 of the surface before it is packed.
        packed: SHA-256 of the file.
        wheel, wheel_sha256: what it was read from.
        read: the day.
    """

    version: str
    file: str
    content: str
    packed: str
    wheel: str
    wheel_sha256: str
    read: str


def pack_surface(surface: ReleaseSurface) -> tuple[bytes, str]:
    """The file of a surface, and the digest of its content."""
    content = msgspec.msgpack.encode(surface)
    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(content)
    return packed, hashlib.sha256(content).hexdigest()


def unpack_surface(packed: bytes, where: str) -> ReleaseSurface:
    """The surface in a file.

    Raises:
        FormatError: it is damaged, or of another version of this program.
    """
    return _decode(packed, where, ReleaseSurface)


def _decode(packed: bytes, where: str, kind: type[T]) -> T:
    try:
        content = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_LIMIT_BYTES)
        with _without_collector():
            return msgspec.msgpack.decode(content, type=kind)
    except (zstandard.ZstdError, msgspec.DecodeError, ValueError) as error:
        raise FormatError(str(error).splitlines()[0], where=where) from error


@contextmanager
def _without_collector() -> Iterator[None]:
    """Decoding makes a hundred thousand objects and no cycle."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def shipped_surfaces() -> dict[str, Shipped]:
    """What is shipped, by version, oldest first."""
    data = resources.files(__package__).joinpath(*_FOLDER, INDEX).read_bytes()
    found = msgspec.json.decode(data, type=tuple[Shipped, ...])
    return {item.version: item for item in sorted(found, key=lambda item: Version(item.version))}


class Life(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """First and last shipped release that has something."""

    first: str
    last: str


History = dict[str, dict[str, Life]]


def named_things(surface: ReleaseSurface) -> dict[str, set[str]]:
    """What a history is kept of, by section; values of flags as ``--flag=value``."""
    values = {f"{o.flag}={value}" for o in surface.options for value in o.choices}
    return {
        "options": {name for item in surface.options for name in item.names} | values,
        "env": set(surface.env_names),
        "models": {m.architecture for m in surface.models if m.kind not in ("removed", "plugin")},
        "parsers": {f"{item.kind} {item.name}" for item in surface.parsers},
        "metrics": {item.name for item in surface.metrics},
        "endpoints": {item.path for item in surface.endpoints},
    }


def trace_history(surfaces: Iterable[ReleaseSurface]) -> History:
    """First and last release of everything named, from surfaces in the order of releases."""
    found: History = {}
    for surface in surfaces:
        for section, names in named_things(surface).items():
            lives = found.setdefault(section, {})
            for name in sorted(names):
                first = lives[name].first if name in lives else surface.version
                lives[name] = Life(first, surface.version)
    return found


@cache
def shipped_history() -> History:
    """When each flag, value, variable, architecture, parser, metric and route came and went."""
    data = resources.files(__package__).joinpath(*_FOLDER, HISTORY).read_bytes()
    return msgspec.json.decode(data, type=History)


def life_of(section: str, name: str) -> Life | None:
    """First and last shipped release that has it; None if none has."""
    return shipped_history().get(section, {}).get(name)


def say_life(life: Life | None) -> str:
    """``since 0.24.0``, ``gone since 0.28.0``, "" where it was there all along or never."""
    if life is None:
        return ""
    known = list(shipped_surfaces())
    if life.last != known[-1]:
        return f"gone since {known[known.index(life.last) + 1]}"
    return f"since {life.first}" if life.first != known[0] else ""


def load_surface(version: str) -> ReleaseSurface:
    """The surface of a released version; never that of a neighbour.

    Raises:
        UsageError: none is shipped for that version.
        FormatError: the file is damaged.
    """
    item = shipped_surfaces()[known_release(version)]
    data = resources.files(__package__).joinpath(*_FOLDER, item.file).read_bytes()
    return unpack_surface(data, item.file)


def known_release(version: str) -> str:
    """A released version as it is shipped: ``0.33.0`` of ``0.33``; never a neighbour.

    Raises:
        UsageError: no surface is shipped for that version; the way out is to name its wheel.
    """
    name = _normal(version)
    if name not in shipped_surfaces():
        raise refusal_of(version)
    return name


def check_reached(version: str, *, oldest: str = "") -> None:
    """Whether a version, or releases on both sides of it, are known here.

    Args:
        oldest: the first known release, where that is another than the first shipped one.

    Raises:
        UsageError: no version, or before or after all that is known.
    """
    known = list(shipped_surfaces())
    try:
        wanted = Version(version)
    except InvalidVersion as error:
        raise refusal_of(version) from error
    if not Version(oldest or known[0]) <= wanted or Version(wanted.public) > Version(known[-1]):
        raise refusal_of(version)


@lru_cache(maxsize=2)
def surface_of_release(version: str) -> ReleaseSurface | None:
    """The surface of a released version; None where none is shipped.

    A local part of the version is put aside: builds of one release are of one source.

    Raises:
        FormatError: the file is damaged.
    """
    public = _normal(version.partition("+")[0])
    return load_surface(public) if public in shipped_surfaces() else None


class _Wording(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]


def load_messages(version: str) -> tuple[Message, ...]:
    """The wording of a released version, without the rest of its surface; () where none is shipped.

    A local part of the version is put aside: builds of one release are of one source.

    Raises:
        FormatError: the file is damaged.
    """
    item = shipped_surfaces().get(_normal(version.partition("+")[0]))
    if item is None:
        return ()
    data = resources.files(__package__).joinpath(*_FOLDER, item.file).read_bytes()
    return _decode(data, item.file, _Wording).messages


def _normal(version: str) -> str:
    """The shipped spelling of a version, which may leave zeros out."""
    try:
        wanted = Version(version)
    except InvalidVersion:
        return version
    return next((name for name in shipped_surfaces() if Version(name) == wanted), str(wanted))


def refusal_of(version: str) -> UsageError:
    """Why a version is no release that is known here, and what to name in its place."""
    known = list(shipped_surfaces())
    try:
        wanted = Version(version)
    except InvalidVersion:
        return UsageError(
            f"`{version}` is no version of vLLM", hint=f"e.g. {known[-1]}" if known else ""
        )
    public = wanted.public
    span = f"{known[0]} to {known[-1]}" if known else "none"
    if wanted.local and public in known:
        what = f"no surface of the build {version} is shipped"
        return UsageError(what, hint=f"name its wheel; {public} is another build's surface")
    if wanted.is_devrelease or wanted.is_prerelease:
        what = f"vLLM {version} is a development version, and those change between releases"
        return UsageError(
            f"{what} ({span} are known)",
            hint="name its wheel, tree or checkout in place of the version",
        )
    return UsageError(
        f"no surface of vLLM {version} is shipped ({span})",
        hint=f"name its wheel: sparkproof release vllm=={version}, or --artifact vllm=={version}",
    )
