"""What a selection is read from: an artifact, or the shipped surface of a released version."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.ports import Progress
from sparkproof.core.refs import RefKind
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.facts.surfaces import load_surface, shipped_surfaces
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint, read_from
from sparkproof.usecases.looking import Seen, see_artifact, see_surface
from sparkproof.usecases.vllm_word import refuse_bare_word


class Asked(msgspec.Struct, frozen=True):
    """One deployment with its checkpoint read."""

    deployment: Deployment
    arguments: SelectionArgs
    checkpoint: ReadCheckpoint


class Source(msgspec.Struct, frozen=True):
    """What has to be opened for a deployment; the same for those that share it.

    Attributes:
        artifact: reference, "" where `vllm` is a released version.
    """

    artifact: str
    vllm: str
    platform: str
    python: str


class Door(msgspec.Struct, frozen=True):
    """How things are opened."""

    cache: ArtifactCache | None
    progress: Progress
    offline: bool


def read_asked(deployment: Deployment, vllm: str, door: Door) -> Asked:
    """Read one deployment's checkpoint; refuse what is wrong as written before that.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    if not deployment.artifact and not vllm:
        raise UsageError(
            "neither an artifact nor a release is named",
            hint="--artifact vllm==0.33.0, or --vllm 0.33.0 for its shipped surface",
        )
    arguments = parse_selection_args(deployment.args)
    checkpoint = read_from(
        deployment.checkpoint, offline=door.offline, cache=door.cache, progress=door.progress
    )
    return Asked(deployment, arguments, checkpoint)


def group_by_source(deployments: Sequence[Deployment], vllm: str) -> dict[Source, list[int]]:
    """Places of the deployments by what has to be opened for them.

    Args:
        vllm: released version in place of every artifact ("" for none).
    """
    found: dict[Source, list[int]] = {}
    for index, item in enumerate(deployments):
        artifact = "" if vllm else item.artifact
        key = Source(artifact, vllm, item.box.platform, item.box.python)
        found.setdefault(key, []).append(index)
    return found


def see(
    source: Source, members: Sequence[Asked], capability: ComputeCapability, door: Door
) -> tuple[Subject, Seen]:
    """Open a source and read what the members need of it.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    if source.vllm:
        surface = load_surface(source.vllm)
        return _shipped(surface.version), see_surface(surface, capability)
    refuse_bare_word(source.artifact)
    opened = open_artifact(
        source.artifact,
        Target(platform=source.platform, python=source.python),
        cache=door.cache,
        offline=door.offline,
        progress=door.progress,
        whole=True,
    )
    try:
        box = Box(platform=source.platform, python=source.python)
        profiles = [item.checkpoint.profile for item in members]
        named = [name for item in members for name in item.arguments.attention_backends]
        seen = see_artifact(
            opened,
            capability,
            box,
            profiles,
            door.progress,
            attention=named,
            cache=door.cache,
        )
    finally:
        opened[1].close()
    return opened[0], seen


def _shipped(version: str) -> Subject:
    item = shipped_surfaces()[version]
    return Subject(
        kind=RefKind.WHEEL,
        ref=f"shipped:{version}",
        identity=f"surface:{item.content}",
        name="vllm",
        version=version,
        notes=(f"the surface that was read from {item.wheel} on {item.read}; no artifact",),
    )
