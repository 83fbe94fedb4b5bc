"""The `[box]` of a deployment, completed by what its image tells."""

from __future__ import annotations

from sparkproof.core.deployment import Box
from sparkproof.core.ports import Artifact
from sparkproof.image.box import box_from_image
from sparkproof.image.observe import observe_image


def complete_box(box: Box, artifact: Artifact) -> Box:
    """The box as it is, or for an image with its compiler, ninja, Python and packages.

    What the user stated stays. An image that was not read yet is read.
    """
    from sparkproof.adapters.image import ImageArtifact  # noqa: PLC0415 - wheels don't pay for it

    if not isinstance(artifact, ImageArtifact):
        return box
    return box_from_image(observe_image(artifact.contents(), artifact.name), box)
