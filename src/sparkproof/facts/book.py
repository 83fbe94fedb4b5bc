"""The facts book: finds and decodes the data files, once each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TypeVar

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.field_report import DeviceClass
from sparkproof.facts.log_schema import Signature
from sparkproof.facts.schema import Glossary, Hardware, Method, Rule, Word

T = TypeVar("T")


def load_file(path: str, kind: type[T]) -> T:
    """Decode ``data/<path>``.

    Raises:
        FormatError: the file does not fit its schema: a bug of ours, named by file.
    """
    return _decode(resources.files(__package__).joinpath("data", *path.split("/")), path, kind)


def load_folder(folder: str, kind: type[T]) -> tuple[T, ...]:
    """Decode every TOML below ``data/<folder>``, in the order of their paths."""
    root = resources.files(__package__).joinpath("data", *folder.split("/"))
    return tuple(_decode(item, name, kind) for name, item in _walk(root, folder))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{prefix}/{item.name}"
        if item.is_dir():
            yield from _walk(item, name)
        elif item.name.endswith(".toml"):
            yield name, item


def _decode(item: Traversable, name: str, kind: type[T]) -> T:
    try:
        return msgspec.toml.decode(item.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise FormatError(str(error), where=f"facts/data/{name}") from error


@cache
def hardware() -> dict[str, Hardware]:
    """All devices by id."""
    return {device.id: device for device in load_folder("hardware", Hardware)}


@cache
def rules() -> dict[str, Rule]:
    """All rules by id."""
    return {rule.id: rule for rule in load_folder("rules", Rule)}


@cache
def signatures() -> dict[str, Signature]:
    """All failure signatures by id."""
    return {item.id: item for item in load_folder("failure_signatures", Signature)}


@cache
def glossary() -> dict[str, Word]:
    """All words, by the word in lower case."""
    return {word.word.lower(): word for word in load_file("glossary.toml", Glossary).words}


def find_device(text: str) -> Hardware:
    """A device by id, alias or compute capability.

    A bare capability such as ``12.1`` gives a device of that capability with no other facts.

    Raises:
        UsageError: neither a known device nor a capability.
    """
    wanted = text.strip().lower()
    for device in hardware().values():
        if wanted in (device.id, *device.aliases):
            return device
    try:
        capability = ComputeCapability.parse(wanted.removeprefix("sm_"))
    except UsageError:
        known = ", ".join(sorted(hardware()))
        raise UsageError(
            f"unknown device `{text[:80]}`", hint=f"one of {known}, or a compute capability"
        ) from None
    return _bare_device(capability)


def _bare_device(capability: ComputeCapability) -> Hardware:
    peers = [d for d in hardware().values() if d.capability == capability]
    device_class = peers[0].device_class if peers else DeviceClass.OTHER
    known = next(iter(hardware().values())).facts["capability"]
    fact = msgspec.structs.replace(
        known, value=str(capability), source="the user", method=Method.GIVEN
    )
    return Hardware(
        id=str(capability),
        title=f"a device of compute capability {capability}",
        device_class=device_class,
        unified_memory=False,
        facts={"capability": fact},
    )
