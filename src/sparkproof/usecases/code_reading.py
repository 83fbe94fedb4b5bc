"""Read an artifact's device code, behind as many doors as it has."""

from __future__ import annotations

from sparkproof.adapters.open_artifact import reopen
from sparkproof.adapters.progress import NoProgress
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.ports import Artifact, Progress
from sparkproof.devicecode.inventory import read_device_code


def read_code(
    artifact: Artifact, capability: ComputeCapability | None, progress: Progress | None = None
) -> DeviceCode:
    """All device code; two threads where the artifact lies on this machine.

    Args:
        capability: whose kernels are read; None for the headers alone.

    Raises:
        UnreachableError: the source went away.
    """
    location = artifact.location
    doors = [lambda: reopen(location)] if location else []
    return read_device_code(artifact, capability, progress or NoProgress(), more_doors=doors)
