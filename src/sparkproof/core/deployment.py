"""One deployment: the only thing recipe readers produce and every command takes."""

from __future__ import annotations

import msgspec

MAX_ARGS = 2000
"""Words of a command line; the longest seen has some dozens, and lists of sizes take hundreds."""


class Box(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the artifact can't say about the machine and image it will run in.

    ``None`` means unstated: every command then judges both ways.

    Attributes:
        nvcc: a CUDA compiler is on the path where vLLM runs.
        ninja: so is ninja.
        platform: CPU architecture of the box, as wheels name it.
        python: ``major.minor`` of the interpreter there.
        packages: packages installed beside vLLM that its pins do not bring, name to version.
        packages_complete: `packages` lists all that is installed there, as read from an image:
            what is not in it is absent, whatever vLLM's pins ask for.
        total_memory_gib: memory of the box, GiB.
        reserve_gib: what to leave to the operating system, GiB.
        co_tenants: other servers on the box, name to GiB.
    """

    nvcc: bool | None = None
    ninja: bool | None = None
    platform: str = "aarch64"
    python: str = "3.12"
    packages: dict[str, str] = {}
    packages_complete: bool = False
    total_memory_gib: float | None = None
    reserve_gib: float | None = None
    co_tenants: dict[str, float] = {}


class Deployment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checkpoint, artifact, device and vLLM arguments.

    Attributes:
        schema: version of this schema.
        args: what follows ``vllm serve MODEL``, verbatim.
        env: environment variables of the server process.
        control: name of the deployment that an A/B gate compares with.
        weights_gib: of the checkpoint as a boot log prints them, GiB; None to take its shards'.
    """

    checkpoint: str
    artifact: str = ""
    schema: int = 1
    name: str = ""
    device: str = "gb10"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    box: Box = Box()
    served_names: tuple[str, ...] = ()
    server_url: str = ""
    control: str = ""
    weights_gib: float | None = None
