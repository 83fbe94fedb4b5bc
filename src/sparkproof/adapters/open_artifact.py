"""From what a user typed to an artifact and its identity."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.identity import hash_file, identify_sdist, identify_tree, identify_wheel
from sparkproof.adapters.markers import check_marker
from sparkproof.adapters.pip import (
    PipRunner,
    Resolution,
    resolve,
    resolve_filename,
    run_pip,
    url_filename,
)
from sparkproof.adapters.progress import NoProgress
from sparkproof.adapters.sdist import open_sdist
from sparkproof.adapters.tree import TreeArtifact
from sparkproof.adapters.zip_artifact import open_wheel
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.ports import Artifact, ArtifactLocation, Progress
from sparkproof.core.refs import Ref, RefForm, RefKind, parse_ref, redact_url, requirement_parts
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target

_HASH = re.compile(r"sha256=([0-9a-fA-F]{64})")
_WHOLE = "write the whole path"
_OPENABLE = (RefKind.WHEEL, RefKind.TREE, RefKind.IMAGE)
_SDIST_SUFFIXES = (".tar.gz", ".tgz")


def open_artifact(
    ref: Ref | str,
    target: Target | None = None,
    *,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
    whole: bool = False,
    run: PipRunner = run_pip,
) -> tuple[Subject, Artifact]:
    """Open what `ref` names.

    Args:
        target: the box it is for: it decides which wheel of a version is meant.
        offline: use the cache only.
        whole: most of it will be read, so a remote one is fetched first. Without this a
            remote wheel is read by range, and `Artifact.localize` fetches it later.
        run: how pip is run.

    Raises:
        UsageError: the ref is wrong as written, or of a kind that can't be opened.
        UnreachableError: it can't be found, reached or stored.
        FormatError: it is not what its name says.
    """
    ref = parse_ref(ref) if isinstance(ref, str) else ref
    target = (target or Target()).check()
    _check_kind(ref)
    if ref.kind is RefKind.IMAGE:
        return _open_image(ref, target, offline=offline, progress=progress)
    if local := _local_path(ref):
        return open_local(local, ref)
    if ref.form is RefForm.REQUIREMENT:
        check_marker(ref.value, target)
    world = _World(cache or ArtifactCache(), offline, progress or NoProgress(), run)
    try:
        subject, artifact = _open_named(ref, target, world, whole=whole)
    except UnreachableError as error:
        raise _or_here(ref, error) from error
    return _with_namesake(ref, subject), artifact


def _open_named(
    ref: Ref, target: Target, world: _World, *, whole: bool
) -> tuple[Subject, Artifact]:
    """What an index or an address has."""
    resolution, url = _resolve(ref, target, world)
    if urlsplit(resolution.url).scheme == "file":
        subject, artifact = open_local(_file_path(resolution.url), ref)
        return _noted(subject, resolution), artifact
    path = world.cache.find(resolution.sha256, resolution.filename)
    if path:
        return _open_cached(ref, resolution, path)
    if world.offline:
        raise UnreachableError(
            f"{resolution.filename} is not in the cache {world.cache.name}",
            hint="run it once without --offline, or name a file",
        )
    return _open_fetched(ref, target, _Wanted(resolution, url, whole), world)


class _World(NamedTuple):
    cache: ArtifactCache
    offline: bool
    progress: Progress
    run: PipRunner


class _Wanted(NamedTuple):
    resolution: Resolution
    url: str
    whole: bool


def _open_fetched(
    ref: Ref, target: Target, wanted: _Wanted, world: _World
) -> tuple[Subject, Artifact]:
    from sparkproof.adapters.fetch import Fetcher  # noqa: PLC0415 - only a fetch pays for HTTP

    is_url = ref.form is RefForm.URL
    fetched = Fetcher(world.cache, world.progress, world.run).fetch(
        wanted.resolution, wanted.url, target, whole=wanted.whole, pip_may=not is_url
    )
    resolution = fetched.resolution
    if fetched.remote:
        sha256, size = resolution.sha256, fetched.size_bytes
        subject = identify_wheel(ref, fetched.remote, sha256, size, verified=False)
        return _noted(subject, resolution), fetched.remote
    assert fetched.path is not None
    world.cache.remember(resolution.url, None, resolution)
    world.cache.remember(_key(ref), None if is_url else target, resolution)
    return _open_cached(ref, resolution, fetched.path)


def open_local(path: Path, ref: Ref) -> tuple[Subject, Artifact]:
    """Open a wheel, sdist or folder on this machine.

    Raises:
        UsageError: it is of another kind than the ref says.
        UnreachableError, FormatError: as `open_artifact`.
    """
    if not _exists(path):
        raise UnreachableError(
            f"{path.name[:200] or path} can't be found",
            hint="name a file, a folder, or a requirement such as vllm==0.33.0",
        )
    if path.is_dir():
        if ref.kind is RefKind.WHEEL and ref.explicit:
            raise UsageError(f"{path.name} is a folder", hint=f"tree:{redact_url(ref.value)}")
        tree = TreeArtifact(find_root(path))
        return identify_tree(ref, tree), tree
    lowered = path.name.lower()
    if lowered.endswith(_SDIST_SUFFIXES):
        sdist = open_sdist(path)
        return identify_sdist(ref, sdist, hash_file(path), path.stat().st_size), sdist
    if ref.kind is RefKind.TREE and not lowered.endswith(".whl"):
        raise UsageError(f"{path.name} is neither a folder nor a .tar.gz", hint="tree:FOLDER")
    wheel = open_wheel(path)
    subject = identify_wheel(ref, wheel, hash_file(path), path.stat().st_size, verified=True)
    return subject, wheel


def find_root(folder: Path) -> Path:
    """Where a folder's packages lie: a virtual environment's own site-packages, or itself."""
    if (folder / "pyvenv.cfg").is_file():
        places = sorted(folder.glob("lib/python3*/site-packages"))
        if len(places) == 1:
            return places[0]
    return folder


def reopen(location: ArtifactLocation) -> Artifact:
    """Open a local artifact again, in another thread or process.

    Raises:
        UnreachableError, FormatError: as when it was first opened.
    """
    path = Path(location.path)
    if location.kind == "tree":
        return TreeArtifact(path, location.name)
    return open_sdist(path) if location.kind == "sdist" else open_wheel(path)


def _check_kind(ref: Ref) -> None:
    if ref.kind not in _OPENABLE:
        raise UsageError(
            f"`{ref.display}`: this version can't look into {ref.kind.value}s yet",
            hint="name a wheel (vllm==0.33.0), an installed tree (tree:FOLDER) or an image",
        )


def _open_image(
    ref: Ref, target: Target, *, offline: bool, progress: Progress | None
) -> tuple[Subject, Artifact]:
    from sparkproof.adapters.open_image import (  # noqa: PLC0415 - wheels don't pay for it
        identify_image,
        open_image,
    )

    image = open_image(ref, target, offline=offline, progress=progress)
    return identify_image(ref, image), image


def _or_here(ref: Ref, error: UnreachableError) -> UnreachableError:
    """The error; where something of that name lies here, with how to name that."""
    named = _namesake(ref)
    if not named:
        return error
    return UnreachableError(
        error.message, hint=f"{named} for what lies in this folder; {error.hint}"
    )


def _with_namesake(ref: Ref, subject: Subject) -> Subject:
    named = _namesake(ref)
    notes = (f"the package of that name; what lies in this folder is {named}",) if named else ()
    return msgspec.structs.replace(subject, notes=(*subject.notes, *notes))


def _namesake(ref: Ref) -> str:
    """How to name the file or folder here that is called as a requirement is; "" for none."""
    if ref.explicit or ref.form is not RefForm.REQUIREMENT or not _exists(Path(ref.value)):
        return ""
    return f"./{ref.value} or tree:{ref.value}" if Path(ref.value).is_dir() else f"./{ref.value}"


def _local_path(ref: Ref) -> Path | None:
    if ref.form is RefForm.PATH:
        try:
            return Path(ref.value).expanduser()
        except RuntimeError as error:
            raise UsageError(f"`{ref.display}`: there is no such user here", hint=_WHOLE) from error
    if ref.form is RefForm.FILENAME and _exists(Path(ref.value)):
        return Path(ref.value)
    if ref.form is RefForm.URL and urlsplit(ref.value).scheme == "file":
        return _file_path(ref.value)
    return None


def _exists(path: Path) -> bool:
    """As `Path.exists`, which raises where a name is too long or a folder barred."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _file_path(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))


def _resolve(ref: Ref, target: Target, world: _World) -> tuple[Resolution, str]:
    if world.offline:
        known = world.cache.recall(_key(ref), None if ref.form is RefForm.URL else target)
        if known is None:
            raise UnreachableError(
                f"{ref.display} was never looked up for {target} while online",
                hint="run it once without --offline, or name a file",
            )
        return known, known.url
    if ref.form is RefForm.URL:
        return _address(ref), ref.value.partition("#")[0]
    if ref.form is RefForm.FILENAME:
        resolution = resolve_filename(ref.value, target, world.run)
    else:
        resolution = resolve(ref.value, target, world.run)
    with contextlib.suppress(UnreachableError):  # an unwritable cache spoils only offline runs
        world.cache.remember(_key(ref), target, resolution)
    return resolution, resolution.url


def _address(ref: Ref) -> Resolution:
    filename = url_filename(ref.value)
    promise = _HASH.search(ref.value.partition("#")[2])
    name = version = ""
    try:
        name, version_, _, _ = parse_wheel_filename(filename)
        version = str(version_)
    except InvalidWheelFilename:
        pass
    return Resolution(
        name=name,
        version=version,
        filename=filename,
        url=redact_url(ref.value),
        sha256=promise[1].lower() if promise else "",
    )


def _key(ref: Ref) -> str:
    if ref.form is RefForm.REQUIREMENT:
        name, spec = requirement_parts(ref.value)
        return f"{canonicalize_name(name)}{spec}"
    return redact_url(ref.value)


def _open_cached(ref: Ref, resolution: Resolution, path: Path) -> tuple[Subject, Artifact]:
    sha256, size = resolution.sha256, path.stat().st_size
    if path.name.lower().endswith(_SDIST_SUFFIXES):
        sdist = open_sdist(path)
        return _noted(identify_sdist(ref, sdist, sha256, size), resolution), sdist
    wheel = open_wheel(path)
    return _noted(identify_wheel(ref, wheel, sha256, size, verified=True), resolution), wheel


def _noted(subject: Subject, resolution: Resolution) -> Subject:
    notes = subject.notes
    if resolution.others:
        others = ", ".join(resolution.others)
        notes = (*notes, f"pip takes {resolution.filename}; other files match too: {others}")
    return msgspec.structs.replace(subject, url=redact_url(resolution.url), notes=notes)
