"""What an image tells of the box that vLLM will find itself in."""

from __future__ import annotations

from sparkproof.core.deployment import Box
from sparkproof.core.observations.image import ImageObservation
from sparkproof.image.observe import PACKAGE

MACHINES = {"arm64": "aarch64", "amd64": "x86_64"}
"""Architectures as OCI names them, and as wheels do."""


def box_from_image(image: ImageObservation, stated: Box | None = None) -> Box:
    """The `[box]` of a deployment, as far as an image can tell; what the user stated stays.

    A program counts as there where vLLM would find it, not where it only lies on the disk.
    """
    given = stated or Box()
    plain = Box()
    packages = {name: version for name, version in image.installed.items() if name != PACKAGE}
    return Box(
        nvcc=_reachable(image, "nvcc") if given.nvcc is None else given.nvcc,
        ninja=_reachable(image, "ninja") if given.ninja is None else given.ninja,
        platform=given.platform
        if given.platform != plain.platform
        else MACHINES.get(image.architecture, plain.platform),
        python=image.python_version or given.python,
        packages={**packages, **given.packages},
        packages_complete=bool(image.installed)
        and not any(layer.skipped for layer in image.layers),
        total_memory_gib=given.total_memory_gib,
        reserve_gib=given.reserve_gib,
        co_tenants=given.co_tenants,
    )


def _reachable(image: ImageObservation, name: str) -> bool:
    tool = image.tool(name)
    return tool is not None and tool.reachable
