"""Read an artifact's device code, behind as many doors as it has."""

from __future__ import annotations

import msgspec

from sparkproof.adapters.open_artifact import reopen
from sparkproof.adapters.progress import NoProgress
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.ports import Artifact, Progress
from sparkproof.core.unknown import Unknown
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.formats.device_scan import TOPIC

_BUILD_FILES = frozenset({"setup.py", "pyproject.toml", "CMakeLists.txt"})
UNBUILT = "holds no machine code: it is built on install"
BUILT = "name the wheel that is built of it, or the folder it is installed in"


def read_code(
    artifact: Artifact, capability: ComputeCapability | None, progress: Progress | None = None
) -> DeviceCode:
    """All device code; two threads where the artifact lies on this machine.

    Source that is yet to be built has none, which is not known of what it becomes.

    Args:
        capability: whose kernels are read; None for the headers alone.

    Raises:
        UnreachableError: the source went away.
    """
    location = artifact.location
    doors = [lambda: reopen(location)] if location else []
    code = read_device_code(artifact, capability, progress or NoProgress(), more_doors=doors)
    if code.loose or any(library.containers for library in code.libraries):
        return code
    if not any(member.path in _BUILD_FILES for member in artifact.members()):
        return code
    unbuilt = Unknown(artifact.name, UNBUILT, TOPIC, BUILT)
    return msgspec.structs.replace(code, unknowns=(*code.unknowns, unbuilt))
