"""Read a checkpoint wherever it lies: metadata, the headers of its shards, and what is amiss."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.checkpoint_source import open_checkpoint, read_headers
from sparkproof.adapters.progress import NoProgress
from sparkproof.checkpoint.read import CONFIG, WANTED, read_checkpoint
from sparkproof.core.errors import FormatError
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, Note
from sparkproof.core.ports import CheckpointSource, Progress
from sparkproof.core.subject import Subject
from sparkproof.core.unknown import Unknown
from sparkproof.formats.mistral_params import as_config
from sparkproof.formats.safetensors_index import SUFFIX, parse_shard_index
from sparkproof.recipe.orchestration_json import is_inspection

_MISTRAL = "params.json"
_WEIGHTS = (".bin", ".pt", ".pth", ".gguf", ".ckpt")
_TOPIC = "declare"
_SHOWN = 3


class ReadCheckpoint(msgspec.Struct, frozen=True):
    """A profile and what it was made from.

    Attributes:
        files: the metadata files, by name.
    """

    profile: CheckpointProfile
    subject: Subject
    files: dict[str, bytes]


def read_from(
    reference: str,
    *,
    offline: bool = False,
    cache: ArtifactCache | None = None,
    progress: Progress | None = None,
) -> ReadCheckpoint:
    """Profile what a reference names; weights are never read.

    Args:
        reference: a folder, a config.json, ``org/name`` or ``org/name@revision``.
        offline: ask nobody.

    Raises:
        UsageError: it can name no checkpoint.
        UnreachableError: there is none, or it can't be had.
        FormatError: its config is missing or damaged.
    """
    source = open_checkpoint(reference, offline=offline, cache=cache)
    try:
        return _read(source, progress or NoProgress())
    finally:
        source.close()


def _read(source: CheckpointSource, progress: Progress) -> ReadCheckpoint:
    listed = source.files()
    files, where = _metadata(source, listed)
    name = source.subject.name
    shards, unknowns = _shards(source, listed)
    headers, faults = read_headers(source, [s for s in shards if s in listed], progress)
    profile = read_checkpoint(files, name, headers, where)
    absent = [shard for shard in shards if shard not in listed]
    profile = msgspec.structs.replace(
        profile,
        notes=(*profile.notes, *_missing(absent, shards), *_damaged(faults)),
        unknowns=(*profile.unknowns, *unknowns),
    )
    return ReadCheckpoint(profile, source.subject, files)


def _metadata(source: CheckpointSource, listed: dict[str, int]) -> tuple[dict[str, bytes], str]:
    """The wanted files, and which the config was made from.

    A config of another name stands for config.json, and so does Mistral's own where there is none.
    """
    files = {name: source.read(name) for name in WANTED if name in listed}
    if not files and len(listed) == 1 and _MISTRAL not in listed:
        [only] = listed
        if only.endswith(".json"):
            files = {CONFIG: source.read(only)}
    if is_inspection(files.get(CONFIG, b"")):
        raise FormatError(
            "what `docker inspect` prints, no checkpoint's config",
            where=source.subject.name,
            hint="`prove`, `select` and `upgrade` take a container's JSON in a deployment's place",
        )
    if CONFIG not in files and _MISTRAL in listed:
        files[CONFIG] = as_config(source.read(_MISTRAL))
        return files, _MISTRAL
    return files, CONFIG


def _shards(
    source: CheckpointSource, listed: dict[str, int]
) -> tuple[list[str], tuple[Unknown, ...]]:
    """Names of the shards: those of the index where there is one, as vLLM filters them."""
    indexes = sorted((n for n in listed if n.endswith(SUFFIX)), key=lambda n: not _main(n))
    found = sorted(name for name in listed if name.endswith(".safetensors"))
    if not indexes:
        return found, _other_weights(listed, found)
    try:
        index = parse_shard_index(source.read(indexes[0]), indexes[0])
    except FormatError as error:
        return found, (Unknown.from_error(error, _TOPIC),)
    if index.shards and not found:
        why = f"none of the {len(index.shards)} shards that it names is here"
        return [], (Unknown(indexes[0], why, _TOPIC, "only what is declared is told"),)
    return list(index.shards), ()


def _main(name: str) -> bool:
    return name.startswith("model.")


def _other_weights(listed: dict[str, int], found: Sequence[str]) -> tuple[Unknown, ...]:
    others = sorted(name for name in listed if name.endswith(_WEIGHTS))
    if found or not others:
        return ()
    why = "weights that are no safetensors are not opened; only what is declared is told"
    return (Unknown(others[0], why, _TOPIC),)


def _missing(absent: Sequence[str], shards: Sequence[str]) -> tuple[Note, ...]:
    if not absent:
        return ()
    more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
    what = f"{len(absent)} of {len(shards)} shards are missing: {', '.join(absent[:_SHOWN])}{more}"
    return (Note("shard-missing", what),)


def _damaged(faults: Sequence[FormatError]) -> tuple[Note, ...]:
    return tuple(
        Note(
            "shard-damaged",
            f"{fault.where}: {fault.reason}" + (f"; {fault.hint}" if fault.hint else ""),
            evidence=(Evidence(fault.where, fault.reason, offset=fault.offset),),
        )
        for fault in faults[:_SHOWN]
    )
