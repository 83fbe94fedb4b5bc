"""Read what a proof and a selection rest on: an artifact's surface and device code, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from sparkproof.adapters.open_artifact import reopen
from sparkproof.adapters.progress import NoProgress
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
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.image.box import box_from_image
from sparkproof.image.observe import observe_image
from sparkproof.release.surface import read_surface
from sparkproof.selection.gates import gates_needed
from sparkproof.selection.predict import attention_oracle
from sparkproof.selection.schemes import oracle_of
from sparkproof.usecases.prove_branch import Look


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


def see_artifact(
    artifact: Artifact,
    capability: ComputeCapability,
    box: Box,
    profiles: Iterable[CheckpointProfile],
    progress: Progress | None = None,
    *,
    attention: Iterable[str] = (),
) -> Seen:
    """Read the surface, as far as the checkpoints need it, and all of the device code.

    Args:
        attention: attention backends that the deployments name.

    Raises:
        FormatError: the artifact holds no vLLM, or does not say which.
    """
    oracles = tuple(sorted({name for profile in profiles for name in oracles_of(profile)}))
    passing = None
    if isinstance(artifact, PassingArtifact):  # its streams pass once: code first
        passing = read_device_code(artifact, capability, progress or NoProgress())
    image = look_into(artifact)
    box = box_from_image(image, box) if image else box
    surface = read_surface(
        artifact,
        target=_markers(box),
        oracles=oracles,
        attention=tuple(name.upper() for name in attention if name),
    )
    if not surface.version:
        raise FormatError("does not say which vLLM it is", where=artifact.name)
    location = artifact.location
    doors = [lambda: reopen(location)] if location else []
    code = passing or read_device_code(
        artifact, capability, progress or NoProgress(), more_doors=doors
    )
    routes = {route.family: route for route in route_families(code, capability)}
    return Seen(capability, surface, code, routes, image)


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
