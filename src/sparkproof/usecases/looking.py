"""Read what a proof and a selection rest on: an artifact's surface and device code, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.observation_cache import ObservationCache
from sparkproof.checkpoint.effective import effective_formats
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.delivery import FamilyRoute
from sparkproof.core.deployment import Box
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.observations.image import ImageObservation
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Artifact, PassingArtifact, Progress
from sparkproof.core.subject import Subject
from sparkproof.devicecode.routes import route_families
from sparkproof.image.box import box_from_image
from sparkproof.image.observe import observe_image
from sparkproof.release.surface import read_surface
from sparkproof.selection.gates import gates_needed
from sparkproof.selection.predict import attention_oracle
from sparkproof.selection.schemes import oracle_of
from sparkproof.usecases.code_reading import read_code
from sparkproof.usecases.prove.branch import Look


class Seen(msgspec.Struct, frozen=True):
    """One artifact on one device, or a release without an artifact.

    Attributes:
        code: None where no artifact was at hand.
        image: what the artifact's image tells, where it is one.
        routes: of its kernel families, by id.
    """

    capability: ComputeCapability
    surface: ReleaseSurface
    code: DeviceCode | None
    routes: Mapping[str, FamilyRoute]
    image: ImageObservation | None = None

    def box_of(self, stated: Box) -> Box:
        """The box, completed by what an image tells; what the user stated stays."""
        return stated if self.image is None else box_from_image(self.image, stated)

    @property
    def toolkit(self) -> str:
        """CUDA toolkit that built the device code ("" if not told)."""
        libraries = self.code.libraries if self.code is not None else ()
        return max((library.toolkit for library in libraries), default="")

    def look_at(self, profile: CheckpointProfile, env: Mapping[str, str]) -> Look:
        """Everything that was seen, with one checkpoint."""
        return Look(
            capability=self.capability,
            surface=self.surface,
            routes=self.routes,
            complete=self.code is not None and not self.code.unknowns,
            profile=profile,
            effective=effective_formats(profile, self.surface.version),
            env=dict(env),
            toolkit=self.toolkit,
            code_read=self.code is not None,
            gates=gates_needed(self.surface, oracles_of(profile)),
        )


class _Wanted(msgspec.Struct, frozen=True):
    """Which part of a surface."""

    oracles: tuple[str, ...]
    attention: tuple[str, ...]


class _Reading(msgspec.Struct, frozen=True):
    """What one pass over an artifact gives."""

    surface: ReleaseSurface
    code: DeviceCode
    image: ImageObservation | None = None


def see_artifact(
    opened: tuple[Subject, Artifact],
    capability: ComputeCapability,
    box: Box,
    profiles: Iterable[CheckpointProfile],
    progress: Progress | None = None,
    *,
    attention: Iterable[str] = (),
    cache: ArtifactCache | None = None,
) -> Seen:
    """Read the surface, as far as the checkpoints need it, and all of the device code.

    Args:
        attention: attention backends that the deployments name.
        cache: where what was read of the same bytes before is found.

    Raises:
        FormatError: the artifact holds no vLLM, or does not say which.
    """
    subject, artifact = opened
    look = _Looking(artifact, capability, progress)
    memory = ObservationCache(cache, subject)
    wanted = _Wanted(
        oracles=tuple(sorted({name for profile in profiles for name in oracles_of(profile)})),
        attention=tuple(name.upper() for name in attention if name),
    )
    asked = [wanted, _markers(box)]
    if isinstance(artifact, PassingArtifact):
        asked_at_once = [*asked, str(capability)]
        read = memory.recall(_Reading, asked_at_once, lambda: look.passing(box, wanted))
    else:
        read = _Reading(
            memory.recall(ReleaseSurface, asked, lambda: look.surface(box, wanted)),
            memory.recall(DeviceCode, str(capability), look.code),
        )
    if not read.surface.version:
        raise FormatError("does not say which vLLM it is", where=artifact.name)
    routes = {route.family: route for route in route_families(read.code, capability)}
    return Seen(capability, read.surface, read.code, routes, read.image)


class _Looking:
    def __init__(
        self, artifact: Artifact, capability: ComputeCapability, progress: Progress | None
    ):
        self._artifact = artifact
        self._capability = capability
        self._progress = progress

    def passing(self, box: Box, wanted: _Wanted) -> _Reading:
        """An image, whose streams pass once: code first."""
        code = self.code()
        image = look_into(self._artifact)
        box = box_from_image(image, box) if image else box
        return _Reading(self.surface(box, wanted), code, image)

    def surface(self, box: Box, wanted: _Wanted) -> ReleaseSurface:
        """The release surface."""
        return read_surface(
            self._artifact,
            target=_markers(box),
            oracles=wanted.oracles,
            attention=wanted.attention,
        )

    def code(self) -> DeviceCode:
        """The device code."""
        return read_code(self._artifact, self._capability, self._progress)


def look_into(artifact: Artifact) -> ImageObservation | None:
    """What an image tells, once it was read; None for anything else."""
    from sparkproof.adapters.image import ImageArtifact  # noqa: PLC0415 - wheels don't pay for it

    if not isinstance(artifact, ImageArtifact):
        return None
    return observe_image(artifact.contents(), artifact.name)


def see_surface(surface: ReleaseSurface, capability: ComputeCapability) -> Seen:
    """A release of which no artifact is at hand: what would be delivered stays unknown."""
    return Seen(capability, surface, None, {})


def oracles_of(profile: CheckpointProfile) -> tuple[str, ...]:
    """What the checkpoint's layers can be decided by, whatever a release makes of them."""
    heads = profile.of(LayerClass.DRAFT) if profile.num_experts else ()
    experts = (msgspec.structs.replace(item, layer_class=LayerClass.EXPERTS) for item in heads)
    deciding = {*map(oracle_of, (*profile.formats, *experts)), attention_oracle(profile)}
    return tuple(sorted(deciding - {""}))


def _markers(box: Box) -> dict[str, str]:
    return {
        "platform_machine": box.platform,
        "python_version": box.python,
        "python_full_version": f"{box.python}.0",
    }
