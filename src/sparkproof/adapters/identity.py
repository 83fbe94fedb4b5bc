"""Who an artifact is: names, versions and the digests that comparisons use."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from sparkproof.adapters.files import read_file
from sparkproof.adapters.sources import FileSource
from sparkproof.adapters.tree import TreeArtifact
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.ports import Artifact
from sparkproof.core.refs import Ref, RefKind
from sparkproof.core.subject import Subject
from sparkproof.formats.core_metadata import CoreMetadata, parse_core_metadata

_METADATA = re.compile(r"[^/]+\.dist-info/METADATA\Z")
_DIST_INFO = re.compile(r"[^/]+\.dist-info/(?P<file>[A-Z]+)\Z")
_COMMIT = re.compile(r"[0-9a-f]{40,64}\Z")
_METADATA_LIMIT_BYTES = 4 << 20
_RECORD_LIMIT_BYTES = 64 << 20
_READ_BYTES = 1 << 20
_MAX_LINE_BYTES = 4096
_MAX_PACKED_BYTES = 64 << 20
_MAIN = "vllm"
"""The distribution that a tree with many of them is about."""


def hash_file(path: Path) -> str:
    """SHA-256 of a file, lower-case hex.

    Raises:
        UnreachableError: it can't be read.
    """
    source = FileSource(path)
    digest = hashlib.sha256()
    try:
        for at in range(0, source.size_bytes, _READ_BYTES):
            digest.update(source.read_at(at, _READ_BYTES))
    finally:
        source.close()
    return digest.hexdigest()


def identify_wheel(
    ref: Ref, artifact: Artifact, sha256: str, size_bytes: int, *, verified: bool
) -> Subject:
    """A wheel, by its file name where that is one, else by its metadata.

    Raises:
        FormatError: a zip archive that is no wheel.
    """
    _check_wheel(artifact)
    notes: list[str] = []
    build = ""
    tags: tuple[str, ...] = ()
    inside = _inner_metadata(artifact, notes) if artifact.location else CoreMetadata()
    try:
        name, version_, build_, tags_ = parse_wheel_filename(artifact.name)
        outside = CoreMetadata(name, str(version_))
        build = f"{build_[0]}{build_[1]}" if build_ else ""
        tags = tuple(sorted(str(tag) for tag in tags_))
        if inside.name and _differ(inside, outside):
            notes.append(f"its metadata says {inside.name} {inside.version}")
    except InvalidWheelFilename:
        outside = inside
        notes.append("its file name is not that of a wheel")
    return Subject(
        kind=RefKind.WHEEL,
        ref=ref.display,
        identity=f"sha256:{sha256}",
        name=outside.name,
        version=outside.version,
        filename=artifact.name,
        sha256=sha256,
        verified=verified,
        size_bytes=size_bytes,
        build_tag=build,
        tags=tags,
        notes=tuple(notes),
    )


def _check_wheel(artifact: Artifact) -> None:
    """Raise where what every installer needs is not there (the binary distribution format)."""
    inside = [match for m in artifact.members() if (match := _DIST_INFO.match(m.path))]
    for wanted in ("METADATA", "RECORD"):
        if not any(match["file"] == wanted for match in inside):
            artifact.close()
            raise FormatError(f"has no {wanted}, so it is no wheel", where=artifact.name)


def identify_sdist(ref: Ref, artifact: Artifact, sha256: str, size_bytes: int) -> Subject:
    """A source distribution, by its PKG-INFO."""
    notes: list[str] = []
    info = _metadata_of(artifact, "PKG-INFO", notes)
    return Subject(
        kind=RefKind.TREE,
        ref=ref.display,
        identity=f"sha256:{sha256}",
        name=info.name,
        version=info.version,
        filename=artifact.name,
        sha256=sha256,
        verified=True,
        size_bytes=size_bytes,
        notes=tuple(notes),
    )


def identify_tree(ref: Ref, artifact: TreeArtifact) -> Subject:
    """An installation, by the hashes of its RECORD; a checkout, by commit and listing."""
    notes: list[str] = []
    dist_info = _main_dist_info(artifact)
    if dist_info:
        info = _metadata_of(artifact, f"{dist_info}/METADATA", notes)
        identity = _record_identity(artifact, f"{dist_info}/RECORD")
    else:
        info = _metadata_of(artifact, "PKG-INFO", notes)
        identity = ""
    if not identity:
        listing = _listing_digest(artifact)
        commit = git_commit(artifact.root)
        identity = f"git:{commit}+{listing[:16]}" if commit else f"listing:{listing}"
        notes.append("its identity is of paths and sizes, not of contents")
    else:
        notes.append("its identity is what was installed; later edits are not seen")
    return Subject(
        kind=RefKind.TREE,
        ref=ref.display,
        identity=identity,
        name=info.name,
        version=info.version,
        notes=tuple(notes),
    )


def git_commit(root: Path) -> str:
    """Commit that a checkout's HEAD names, read from its files ("" if it can't be told)."""
    folder = root / ".git"
    try:
        if folder.is_file():
            link = _line(folder).removeprefix("gitdir:").strip()
            folder = (root / link).resolve()
        head = _line(folder / "HEAD")
        if not head.startswith("ref: "):
            return head if _COMMIT.match(head) else ""
        return _git_ref(folder, head.removeprefix("ref: "))
    except (OSError, UnreachableError, FormatError):
        return ""


def _line(path: Path) -> str:
    return read_file(path, _MAX_LINE_BYTES).decode(errors="replace").strip()


def _git_ref(folder: Path, ref: str) -> str:
    common = folder / "commondir"
    if common.is_file():
        folder = (folder / _line(common)).resolve()
    if not re.fullmatch(r"refs/[A-Za-z0-9._/+-]+", ref) or ".." in ref:
        return ""
    loose = folder / ref
    if loose.is_file():
        commit = _line(loose)
        return commit if _COMMIT.match(commit) else ""
    packed = read_file(folder / "packed-refs", _MAX_PACKED_BYTES)
    for line in packed.decode(errors="replace").splitlines():
        commit, _, name = line.strip().partition(" ")
        if name == ref and _COMMIT.match(commit):
            return commit
    return ""


def _inner_metadata(artifact: Artifact, notes: list[str]) -> CoreMetadata:
    paths = [m.path for m in artifact.members() if _METADATA.match(m.path)]
    if len(paths) != 1:
        notes.append(f"it holds {len(paths)} METADATA files where a wheel has one")
        return CoreMetadata()
    return _metadata_of(artifact, paths[0], notes)


def _metadata_of(artifact: Artifact, path: str, notes: list[str]) -> CoreMetadata:
    try:
        return parse_core_metadata(artifact.read(path, limit_bytes=_METADATA_LIMIT_BYTES))
    except KeyError:
        return CoreMetadata()
    except (FormatError, UnreachableError) as error:
        notes.append(f"its metadata can't be read: {error.message}")
        return CoreMetadata()


def _main_dist_info(artifact: TreeArtifact) -> str:
    found = [m.path.split("/", 1)[0] for m in artifact.members() if _METADATA.match(m.path)]
    if len(found) == 1:
        return found[0]
    mine = [f for f in found if canonicalize_name(f.split("-", 1)[0]) == _MAIN]
    return mine[0] if len(mine) == 1 else ""


def _record_identity(artifact: TreeArtifact, path: str) -> str:
    try:
        text = artifact.read(path, limit_bytes=_RECORD_LIMIT_BYTES).decode(errors="replace")
        rows = [
            f"{row[0]},{row[1]}"
            for row in csv.reader(io.StringIO(text))
            if len(row) == 3 and row[1] and ".dist-info/" not in row[0]
        ]
    except (KeyError, FormatError, UnreachableError, csv.Error):
        return ""
    if not rows:
        return ""
    return "record:" + hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def _listing_digest(artifact: TreeArtifact) -> str:
    listing = "\n".join(f"{m.path},{m.size_bytes}" for m in artifact.members())
    return hashlib.sha256(listing.encode()).hexdigest()


def _differ(inside: CoreMetadata, outside: CoreMetadata) -> bool:
    names = canonicalize_name(inside.name) != canonicalize_name(outside.name)
    return names or inside.version != outside.version
