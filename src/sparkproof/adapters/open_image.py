"""From the name of an image to its artifact: registry, archive, layout, engine, container."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sparkproof.adapters.image import ImageArtifact
from sparkproof.adapters.image_archive import open_saved
from sparkproof.adapters.image_engine import (
    Engine,
    open_container_image,
    open_engine_image,
)
from sparkproof.adapters.image_source import ImageSource
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.image_name import ImageName, parse_image_name
from sparkproof.core.ports import Progress
from sparkproof.core.refs import CONTAINER, Ref, RefForm, RefKind
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target

_ENGINE = "engine:"
_WHOLE = "write the whole path"
_ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}


def open_image(
    ref: Ref,
    target: Target,
    *,
    progress: Progress | None = None,
    offline: bool = False,
    all_layers: bool = False,
    engine: Engine | None = None,
) -> ImageArtifact:
    """Open an image; of a registry's, the documents are fetched, and layers when asked for.

    Args:
        ref: ``vllm/vllm-openai:TAG``, ``./image.tar``, ``./layout``, ``./image.tar#TAG``,
            ``engine:NAME`` or ``container:NAME``; behind a registry's name ``#sha256=<hex>`` says
            which image has to be found there, by the engine's id.
        all_layers: fetch those too whose build step tells what they hold.
        engine: stands in for docker or podman.

    Raises:
        UsageError: no name of an image.
        UnreachableError, FormatError: it can't be had, or is none.
    """
    source = _source(ref, target, offline=offline, engine=engine)
    return ImageArtifact(source, progress=progress, all_layers=all_layers)


def identify_image(
    ref: Ref, artifact: ImageArtifact, *, name: str = "", version: str = ""
) -> Subject:
    """An image, by the digest of its config: the same from every source.

    Args:
        name: what it is about, once that is known.
    """
    source = artifact.source
    parts = source.parts() if source.ordered else artifact.contents().parts
    notes = ["its identity is the digest of its config, which every source shares"]
    pin = parts.index_digest or parts.manifest_digest
    if pin:
        notes.append(f"pin {pin}")
    return Subject(
        kind=RefKind.IMAGE,
        ref=ref.display,
        identity=f"image:{parts.config_digest}",
        name=name,
        version=version,
        verified=True,
        size_bytes=sum(parts.stored_bytes),
        notes=tuple(notes),
    )


def _source(ref: Ref, target: Target, *, offline: bool, engine: Engine | None) -> ImageSource:
    if ref.kind is not RefKind.IMAGE:
        raise UsageError(f"`{ref.display}` is no image", hint="`sparkproof wheel` looks into it")
    architecture = _ARCHITECTURES.get(target.platform, target.platform)
    value = ref.value
    if ref.form is RefForm.PATH:
        return _open_path(value, architecture)
    if value.startswith(_ENGINE):
        name = value.removeprefix(_ENGINE)
        return open_engine_image(name, architecture=architecture, engine=engine)
    if value.startswith(CONTAINER):
        name = value.removeprefix(CONTAINER)
        return open_container_image(name, architecture=architecture, engine=engine)
    if Path(value).suffix in (".tar", ".tgz") and Path(value).is_file():
        raise UsageError(f"`{value}` names an image in a registry", hint=f"./{value} is the file")
    image = parse_image_name(value)
    if offline:
        raise UnreachableError(
            f"{image.title} is in a registry, and images are not kept in the cache",
            hint="save it to an archive (`docker image save`) and name the file",
        )
    return _in_registry(image, architecture)


def _in_registry(image: ImageName, architecture: str) -> ImageSource:
    """The image that a name leads to; where a certain one is meant, that one or none.

    A tag may have gone on since: then what is meant can still be had where its id is the digest of
    a manifest.
    """
    from sparkproof.adapters.registry import RegistryClient, RegistryImage  # noqa: PLC0415 - HTTP

    found = RegistryImage(RegistryClient(image), architecture=architecture)
    parts, meant = found.parts(), image.expected
    if meant in ("", parts.config_digest, parts.manifest_digest, parts.index_digest):
        return found
    found.close()
    pinned = msgspec.structs.replace(image, digest=meant, expected="")
    try:
        return RegistryImage(RegistryClient(pinned), architecture=architecture)
    except (UnreachableError, FormatError) as error:
        raise UnreachableError(
            f"{image.title} is another image today than the one that is meant ({meant[:19]}…)",
            hint=f"on the machine that has it: engine:{meant[7:19]}, or an archive made there "
            "with `docker image save`",
        ) from error


def _open_path(value: str, architecture: str) -> ImageSource:
    text, _, wanted = value.partition("#")
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"`{text}`: there is no such user here", hint=_WHOLE) from error
    try:
        path.stat()
    except (OSError, ValueError) as error:
        raise UnreachableError(
            f"{path.name[:200] or path} can't be found",
            hint="name an archive, a layout folder, engine:NAME, or an image in a registry",
        ) from error
    return open_saved(path, architecture=architecture, wanted=wanted)
