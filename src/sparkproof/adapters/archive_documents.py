"""Which image the documents in an archive or a layout speak of, and which layers it has."""

from __future__ import annotations

from typing import Protocol

from sparkproof.adapters.image_source import check_parts, digest_of
from sparkproof.core.errors import FormatError
from sparkproof.formats.image_parts import ImageParts
from sparkproof.formats.oci import (
    Manifest,
    PlatformEntry,
    choose_platform,
    parse_document,
    parse_saved_list,
)

BLOBS = "blobs/sha256/"
_SAVED_LIST = "manifest.json"
_INDEX = "index.json"
_MAX_INDEX_DEPTH = 3
_HINT = "give a `docker save` or OCI archive, or a folder with oci-layout in it"


class Blobs(Protocol):
    """Named pieces of a saved image."""

    def document(self, name: str) -> bytes | None:
        """A small piece; None if there is none of that name."""
        ...


def parts_of(blobs: Blobs, name: str, architecture: str, wanted: str) -> ImageParts:
    """The documents of one image in an archive.

    Raises:
        FormatError: no image in it, several of them and none named, or one is damaged.
    """
    index = blobs.document(_INDEX)
    if index is not None:
        return _from_layout(blobs, index, name, architecture, wanted)
    saved = blobs.document(_SAVED_LIST)
    if saved is not None:
        return _from_saved(blobs, saved, name, wanted)
    raise FormatError("holds no image", where=name, hint=_HINT)


def _from_saved(blobs: Blobs, data: bytes, name: str, wanted: str) -> ImageParts:
    images = parse_saved_list(data, f"{name}!{_SAVED_LIST}")
    found = [image for image in images if wanted in ("", *image.tags)]
    if len(found) != 1:
        tags = ", ".join(tag for image in images for tag in image.tags) or "without names"
        raise FormatError(f"holds {len(images)} images: {tags}", where=name, hint=_which(name))
    image = found[0]
    config = _need(blobs, image.config, name)
    return ImageParts(
        config=check_parts(config, len(image.layers), f"{name}!{image.config}"),
        config_digest=digest_of(config),
        keys=image.layers,
        stored_bytes=(0,) * len(image.layers),
        tags=image.tags,
    )


def _from_layout(
    blobs: Blobs, data: bytes, name: str, architecture: str, wanted: str
) -> ImageParts:
    entries = _entries(data, name)
    images = [entry for entry in entries if not entry.attestation]
    named = [e for e in images if wanted and wanted in (e.name, e.descriptor.digest)]
    if not named and (wanted or _ambiguous(images)):
        names = ", ".join(e.name or e.descriptor.digest[:19] for e in images) or "nothing"
        raise FormatError(f"holds {names}", where=name, hint=_which(name))
    once = {entry.descriptor.digest: entry for entry in reversed(named or images)}
    chosen = choose_platform(tuple(once.values()), architecture, name)
    index_digest = ""
    for _ in range(_MAX_INDEX_DEPTH):
        where = f"{name}!{chosen.descriptor.digest[:19]}"
        document = parse_document(_blob(blobs, chosen.descriptor.digest, name), where)
        if isinstance(document, Manifest):
            return _from_manifest(blobs, document, chosen, index_digest, name)
        index_digest = chosen.descriptor.digest
        inner = choose_platform(document, architecture, where)
        chosen = PlatformEntry(inner.descriptor, name=chosen.name)
    raise FormatError("indexes are nested too deeply", where=name)


def _ambiguous(images: list[PlatformEntry]) -> bool:
    """Several names for several images; one image under two names is one image."""
    names = {entry.name for entry in images}
    return len(names) > 1 and len({entry.descriptor.digest for entry in images}) > 1


def _from_manifest(
    blobs: Blobs, manifest: Manifest, chosen: PlatformEntry, index_digest: str, name: str
) -> ImageParts:
    config = _blob(blobs, manifest.config.digest, name)
    return ImageParts(
        config=check_parts(config, len(manifest.layers), f"{name}!config"),
        config_digest=manifest.config.digest,
        keys=tuple(_blob_name(layer.digest) for layer in manifest.layers),
        stored_bytes=tuple(layer.size_bytes for layer in manifest.layers),
        manifest_digest=chosen.descriptor.digest,
        index_digest=index_digest,
        tags=(chosen.name,) if chosen.name else (),
    )


def _entries(data: bytes, name: str) -> tuple[PlatformEntry, ...]:
    document = parse_document(data, f"{name}!{_INDEX}")
    if isinstance(document, Manifest):
        raise FormatError("is no index", where=f"{name}!{_INDEX}")
    return document


def _blob(blobs: Blobs, digest: str, name: str) -> bytes:
    data = _need(blobs, _blob_name(digest), name)
    if digest_of(data) != digest:
        raise FormatError("is not what it is called", where=f"{name}!{_blob_name(digest)}")
    return data


def _need(blobs: Blobs, key: str, name: str) -> bytes:
    data = blobs.document(key)
    if data is None:
        raise FormatError("is missing", where=f"{name}!{key}", hint="save the image again")
    return data


def _blob_name(digest: str) -> str:
    return BLOBS + digest.removeprefix("sha256:")


def _which(name: str) -> str:
    return f"name one: image:./{name}#TAG"
