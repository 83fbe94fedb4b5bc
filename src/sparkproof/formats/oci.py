"""OCI and Docker images as documents: index, manifest, config, the list in a saved archive.

Format: OCI image specification 1.1 (index, manifest, config, layer media types) and Docker's
image manifest version 2, schema 2; `docker save` writes ``manifest.json`` (moby, image/tarexport);
checked 2026-11-29.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.image_name import DIGEST
from sparkproof.formats.json_object import Fields, Json, parse_json_object

MANIFEST_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
DOCUMENT_LIMIT_BYTES = 4 << 20
"""Registries refuse larger manifests; a config of a thousand layers stays far below."""
MAX_LAYERS = 1024
_MAX_BLOB_BYTES = 1 << 40
_OLD = "application/vnd.docker.distribution.manifest.v1"
_LAYER = re.compile(r"application/vnd\.(?:oci\.image\.layer|docker\.image\.rootfs)\.\S*\Z")
_ATTESTATION = "vnd.docker.reference.type"
_MAX_TEXT = 4096


class Descriptor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reference to a blob: its digest, stored size and media type."""

    digest: str
    size_bytes: int
    media_type: str = ""


class PlatformEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One manifest of an index.

    Attributes:
        attestation: provenance or SBOM about another manifest; nothing to run.
        name: reference name in a layout ("" for none).
    """

    descriptor: Descriptor
    os: str = ""
    architecture: str = ""
    variant: str = ""
    attestation: bool = False
    name: str = ""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One image of one platform."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


class HistoryEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the build."""

    command: str
    empty: bool
    created: str = ""


class ImageConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an image says of itself.

    Attributes:
        created: as written; "" where it is absent or no date.
        diff_ids: digests of the uncompressed layers, lowest first.
        commands: the build step behind each layer, "" where the history does not tell.
    """

    architecture: str
    os: str
    created: str = ""
    env: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    workdir: str = ""
    user: str = ""
    diff_ids: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def variable(self, name: str) -> str:
        """An environment variable; the last one counts; "" where unset."""
        return next((value for key, value in reversed(self.env) if key == name), "")


class SavedImage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One image in a ``docker save`` archive: member names of its config and layers."""

    config: str
    layers: tuple[str, ...]
    tags: tuple[str, ...]


def parse_document(data: bytes, where: str) -> tuple[PlatformEntry, ...] | Manifest:
    """An index as its entries, or a manifest; told apart by their fields.

    Raises:
        FormatError: neither, or of the retired schema 1.
    """
    fields = _top(data, where)
    version = fields.integer("schemaVersion", 2)
    if version != 2 or fields.text("mediaType").startswith(_OLD):
        raise FormatError(
            "is a manifest of schema 1, which registries retired",
            where=where,
            hint="pull and push it again with a current engine",
        )
    if "manifests" in fields:
        return tuple(_entry(item) for item in _objects(fields, "manifests"))
    config = fields.table("config")
    if config is None:
        raise FormatError("is neither an index nor a manifest", where=where)
    layers = tuple(_descriptor(item) for item in _objects(fields, "layers"))
    foreign = next((x.media_type for x in layers if not _LAYER.match(x.media_type)), "")
    if foreign:
        raise FormatError(
            f"holds `{foreign[:80]}` where layers belong: no runnable image",
            where=where,
            hint="this is an attestation, chart or model artifact; name the image itself",
        )
    return Manifest(_descriptor(config), layers)


def parse_config(data: bytes, where: str) -> ImageConfig:
    """The config blob.

    Raises:
        FormatError: not one.
    """
    fields = _top(data, where)
    inner = fields.table("config") or Fields({}, where, "config")
    rootfs = fields.table("rootfs") or Fields({}, where, "rootfs")
    diff_ids = rootfs.texts("diff_ids")
    history = tuple(_history(item) for item in _objects(fields, "history"))
    full = [step.command for step in history if not step.empty]
    return ImageConfig(
        architecture=fields.text("architecture"),
        os=fields.text("os"),
        created=_moment(fields.text("created")),
        env=tuple(_pair(item) for item in inner.texts("Env")),
        labels=_labels(inner),
        entrypoint=inner.texts("Entrypoint"),
        cmd=inner.texts("Cmd"),
        workdir=inner.text("WorkingDir")[:_MAX_TEXT],
        user=inner.text("User")[:_MAX_TEXT],
        diff_ids=diff_ids,
        commands=tuple(full) if len(full) == len(diff_ids) else ("",) * len(diff_ids),
    )


def parse_saved_list(data: bytes, where: str) -> tuple[SavedImage, ...]:
    """``manifest.json`` of a ``docker save`` archive.

    Raises:
        FormatError: not one, or empty.
    """
    fields = _top(b'{"images":' + data.strip() + b"}", where)
    found = tuple(
        SavedImage(
            config=item.text("Config"), layers=item.texts("Layers"), tags=item.texts("RepoTags")
        )
        for item in _objects(fields, "images")
    )
    if not found or any(len(image.layers) > MAX_LAYERS for image in found):
        raise FormatError("lists no image", where=where)
    return found


def parse_container_image(data: bytes, where: str) -> str:
    """The image id in an engine's JSON about one container.

    Raises:
        FormatError: JSON of something else.
    """
    fields = _top(b'{"containers":' + data.strip() + b"}", where)
    found = _objects(fields, "containers")
    image = found[0].text("Image") if len(found) == 1 else ""
    if not image:
        raise FormatError("is no `inspect` of one container", where=where)
    return image


def choose_platform(
    entries: tuple[PlatformEntry, ...], architecture: str, where: str
) -> PlatformEntry:
    """The manifest of a platform.

    Raises:
        FormatError: the index has none for it; the message lists what it has.
    """
    images = [entry for entry in entries if not entry.attestation]
    for entry in images:
        if entry.os in ("linux", "") and entry.architecture == architecture:
            return entry
    unlabelled = [entry for entry in images if not entry.architecture]
    if len(images) == 1 and unlabelled:
        return images[0]
    has = ", ".join(sorted({f"{e.os or '?'}/{e.architecture or '?'}" for e in images})) or "nothing"
    raise FormatError(
        f"has no linux/{architecture} image, only {has}",
        where=where,
        hint="a DGX Spark needs arm64; look for a tag that is built for it",
    )


def _top(data: bytes, where: str) -> Fields:
    if len(data) > DOCUMENT_LIMIT_BYTES:
        raise FormatError(f"{len(data)} bytes are more than such a document has", where=where)
    return Fields(parse_json_object(data, where), where)


def _objects(fields: Fields, key: str) -> list[Fields]:
    value: Json = fields.raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > 8 * MAX_LAYERS:
        raise fields.wrong(key, "no list of objects")
    found = []
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise fields.wrong(key, "no list of objects")
        found.append(Fields(item, fields.where, f"{fields.name(key)}[{number}]"))
    return found


def _descriptor(fields: Fields) -> Descriptor:
    digest = fields.text("digest")
    if not DIGEST.match(digest):
        raise fields.wrong("digest", "no sha256 digest")
    size = fields.integer("size", high=_MAX_BLOB_BYTES)
    return Descriptor(digest, size, fields.text("mediaType"))


def _entry(fields: Fields) -> PlatformEntry:
    platform = fields.table("platform") or Fields({}, fields.where)
    notes = fields.table("annotations") or Fields({}, fields.where)
    names = (platform.text("os"), platform.text("architecture"))
    return PlatformEntry(
        descriptor=_descriptor(fields),
        os=names[0],
        architecture=names[1],
        variant=platform.text("variant"),
        attestation=_ATTESTATION in notes or names == ("unknown", "unknown"),
        name=notes.text("io.containerd.image.name")
        or notes.text("org.opencontainers.image.ref.name"),
    )


def _history(fields: Fields) -> HistoryEntry:
    return HistoryEntry(
        command=fields.text("created_by")[:_MAX_TEXT],
        empty=fields.flag("empty_layer", default=False),
        created=fields.text("created"),
    )


def _labels(inner: Fields) -> tuple[tuple[str, str], ...]:
    labels = inner.table("Labels")
    if labels is None:
        return ()
    return tuple((key[:_MAX_TEXT], labels.text(key)[:_MAX_TEXT]) for key in sorted(labels.raw))


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name[:_MAX_TEXT], value[:_MAX_TEXT]


def _moment(text: str) -> str:
    """RFC 3339 with fractions of any length, which Python's parser takes since 3.11."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return text
