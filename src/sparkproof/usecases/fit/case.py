"""One question to ``fit``, with everything it needs read and resolved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from sparkproof.adapters.files import is_there
from sparkproof.adapters.meminfo import is_spark, read_meminfo
from sparkproof.adapters.processes import find_servers
from sparkproof.checkpoint.state_layout import read_state_layout
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Finding
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.observations.state_layout import StateKind, StateLayout
from sparkproof.core.serve_args import ServeArgs
from sparkproof.core.serve_line import ServeLine
from sparkproof.core.units import MIN_BOX_GIB
from sparkproof.core.unknown import Unknown
from sparkproof.facts.book import find_device
from sparkproof.facts.memory_book import (
    RuleChoice,
    choose_rules,
    device_memory,
    examined_versions,
)
from sparkproof.facts.surfaces import check_reached
from sparkproof.memory.budget import GIB
from sparkproof.memory.kv_plan import KvShape, refuse_unknown
from sparkproof.memory.settings import Device, resolve_settings
from sparkproof.usecases.fit.arguments import find_parser, read_arguments
from sparkproof.usecases.fit.inputs import (
    CheckpointFiles,
    read_checkpoint_files,
    read_deployment,
    version_of_artifact,
)
from sparkproof.usecases.line_findings import surroundings

CPU = "cpu"
_MOST_JOBS = 1 << 16
_JOB_DIGITS = 9
"""Enough to be beyond any bound."""


class FitRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user asks.

    Attributes:
        checkpoint, drafter: folders, or their config.json.
        version: vLLM version; "" to take it from `artifact`, or the newest examined.
        argv: what follows ``vllm serve MODEL``.
        kv_gib: the pool as a log prints it, two decimals; None to plan it.
        weights_gib: as a log prints it after loading; None to take the shards' sizes.
        rest_gib: what a log shows beside weights, graphs and pool; None to estimate it.
        meminfo: a saved ``/proc/meminfo``; None for the usual, or for this box if it is a Spark.
        total_gib: what the device reports; None for the usual of the device.
        tenants: other servers, name to GiB.
        sequences, length: what to solve for; 0 for one request of the full context.
        typical_length: tokens that traffic uses; 0 where not told.
        jobs: compiler jobs at a cold start; 0 for a warm one.
        reference: the deployment it was taken from, for what to type next; "" for none.
        as_usual: the box as it is planned with, whatever runs on it now; nothing of it is read.
        surface: of the release, where the caller has it; the caller then tells what it refuses.
        trial: `kv_gib` is a trial's, which no other word about the pool contradicts.
        chunks_as_full: the environment has chunked layers allocated like full attention.
        env: variables of the server process.
    """

    checkpoint: str
    version: str = ""
    artifact: str = ""
    drafter: str = ""
    argv: tuple[str, ...] = ()
    device: str = "gb10"
    kv_gib: float | None = None
    weights_gib: float | None = None
    rest_gib: float | None = None
    meminfo: Path | None = None
    total_gib: float | None = None
    reserve_gib: float | None = None
    tenants: dict[str, float] = {}
    sequences: int = 0
    length: int = 0
    typical_length: int = 0
    jobs: int = 0
    reference: str = ""
    as_usual: bool = False
    surface: ReleaseSurface | None = None
    trial: bool = False
    chunks_as_full: bool = False
    env: dict[str, str] = {}


class FitCase(msgspec.Struct, frozen=True):
    """Everything read and resolved.

    Attributes:
        running: servers seen on this box, where it is the one that is asked about.
        basis: whose reading of the arguments it is.
        refused: what the release's parser has against them, unless the caller tells it.
        line: the arguments as the release's parser took them; None where there is none.
    """

    request: FitRequest
    args: ServeArgs
    layout: StateLayout
    drafter: StateLayout | None
    files: CheckpointFiles
    draft_files: CheckpointFiles | None
    choice: RuleChoice
    device: Device
    unified: bool
    total_bytes: int
    available_bytes: int | None
    unknowns: tuple[Unknown, ...]
    running: tuple[str, ...] = ()
    basis: str = ""
    refused: tuple[Finding, ...] = ()
    line: ServeLine | None = None

    def shape(self, args: ServeArgs | None = None, *, newer: bool = False) -> KvShape:
        """The pool's cut, by the older or the newer neighbour's rules."""
        refuse_unknown(self.layout)
        rules = self.choice.rules[-1 if newer else 0]
        settings = resolve_settings(self.layout, args or self.args, rules, self.device)
        wanted = settings.speculative_tokens and (args or self.args).speculation
        return KvShape(self.layout, settings, self.drafter if wanted else None)


def read_case(request: FitRequest, files: CheckpointFiles | None = None) -> FitCase:
    """Read checkpoint, drafter and box; resolve flags, release and device.

    Args:
        files: of the checkpoint, where it has been read already.

    Raises:
        UsageError: flags that vLLM refuses, an unknown device or version.
        UnreachableError, FormatError: the checkpoint or the box can't be read.
    """
    version, surface = _release(request)
    files = files or read_checkpoint_files(request.checkpoint)
    named = "" if request.device == CPU else request.device
    beside = surroundings(files.config, named, request.env)
    taken = read_arguments(request.argv, surface, version, beside)
    args = taken.args
    layout = read_state_layout(files.config, quantization=files.quantization, name=files.name)
    if request.chunks_as_full and args.hybrid_manager is None and layout.count(StateKind.CHUNKED):
        args = msgspec.structs.replace(args, hybrid_manager=False)
    drafter = _drafter(request, args)
    draft_layout = (
        read_state_layout(drafter.config, quantization=drafter.quantization, name=drafter.name)
        if drafter
        else None
    )
    unknowns: list[Unknown] = []
    choice = _choice(version, unknowns)
    device, total, available, unified = _device(request)
    return FitCase(
        request, args, layout, draft_layout, files, drafter, choice, device, unified, total,
        available, tuple(unknowns), () if available is None or request.meminfo else find_servers(),
        taken.basis, taken.refused if request.surface is None else (), taken.line,
    )  # fmt: skip


def _release(request: FitRequest) -> tuple[str, ReleaseSurface | None]:
    """Version that was asked for ("" for none), and the surface whose parser types arguments."""
    version = request.version or version_of_artifact(request.artifact)
    surface = request.surface or find_parser(version or _newest(request), request.artifact)
    return version or (surface.version if surface and request.artifact else ""), surface


def _newest(request: FitRequest) -> str:
    """The release that is assumed where nothing tells one."""
    return "" if request.artifact else str(examined_versions()[-1])


def _drafter(request: FitRequest, args: ServeArgs) -> CheckpointFiles | None:
    spec = args.speculation
    if request.drafter:
        if spec is None:
            raise UsageError(
                "a drafter is named, yet the flags have no --speculative-config",
                hint="add it behind --, or leave out --drafter",
            )
        return read_checkpoint_files(request.drafter)
    if spec is None or not spec.model or spec.method in ("mtp", "ngram", "suffix"):
        return None
    if not is_there(Path(spec.model)):
        raise UsageError(
            f"the draft model `{spec.model}` is not on this disk; its layers share the KV pool",
            hint="give its folder or config.json with --drafter",
        )
    return read_checkpoint_files(spec.model)


def _choice(version: str, unknowns: list[Unknown]) -> RuleChoice:
    if not version:
        version = str(examined_versions()[-1])
        why = f"no version told: {version} is assumed"
        hint = "give --vllm VERSION or --artifact vllm==VERSION"
        unknowns.append(Unknown("vllm", why, topic="fit/version", hint=hint))
    choice = choose_rules(version)
    if not choice.exact:
        hint = "take a newer sparkproof" if is_beyond(choice) else ""
        unknowns.append(Unknown("vllm", choice.note, topic="fit/version", hint=hint))
    return choice


def is_beyond(choice: RuleChoice) -> bool:
    """Whether a version is newer than all that was examined: no release bounds its answer."""
    return not choice.exact and len(choice.rules) == 1


def _device(request: FitRequest) -> tuple[Device, int, int | None, bool]:
    """Device, total bytes, available bytes where they were read, and whether it shares memory."""
    given = request.total_gib
    if given is not None and given < MIN_BOX_GIB:
        raise UsageError(
            f"a device of {given} GiB has no memory to speak of",
            hint="give --total-gib as the device reports it",
        )
    if request.device == CPU:
        info = read_meminfo(request.meminfo)
        total = int(given * GIB) if given else info.total_bytes
        return Device(CPU, total / GIB), total, info.available_bytes, True
    found = find_device(request.device)
    known = device_memory(found.id)
    nominal = found.facts.get("memory_gb")
    usual = known.total_gib if known else float(nominal.value) * 1e9 / GIB if nominal else 0.0
    live = found.unified_memory and not request.as_usual and is_spark()
    here = request.meminfo is not None or live
    info_here = read_meminfo(request.meminfo) if here and found.unified_memory else None
    measured = info_here.total_bytes / GIB if info_here else 0.0
    total_gib = given or measured or usual
    if not total_gib:
        raise UsageError(f"the memory of `{request.device}` is not known", hint="give --total-gib")
    device = Device(str(found.capability), total_gib)
    available = info_here.available_bytes if info_here else None
    return device, int(total_gib * GIB), available, found.unified_memory


def request_of(deployment: Deployment, surface: ReleaseSurface) -> FitRequest:
    """A deployment's own request, on the box as it is planned with.

    Args:
        surface: of its artifact; what its parser refuses is the caller's to tell.
    """
    return FitRequest(
        checkpoint=deployment.checkpoint,
        version=surface.version,
        surface=surface,
        argv=deployment.args,
        device=deployment.device,
        weights_gib=deployment.weights_gib,
        total_gib=deployment.box.total_memory_gib,
        reserve_gib=deployment.box.reserve_gib,
        tenants=deployment.box.co_tenants,
        jobs=_compiler_jobs(deployment),
        chunks_as_full=_has_chunks_as_full(deployment),
        env=deployment.env,
        as_usual=True,
    )


def _compiler_jobs(deployment: Deployment) -> int:
    """As the environment bounds them; what is no such number bounds nothing."""
    jobs = deployment.env.get("MAX_JOBS", "")
    return min(int(jobs[:_JOB_DIGITS]), _MOST_JOBS) if jobs.isdecimal() else 0


def _has_chunks_as_full(deployment: Deployment) -> bool:
    return deployment.env.get("VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE") == "0"


def fit_request(reference: str, argv: tuple[str, ...], **given: Any) -> FitRequest:
    """The request of a checkpoint with flags, or of a deployment whose fields `given` overrides.

    Raises:
        UsageError: flags beside a deployment that has its own, or a version out of reach.
        UnreachableError, FormatError: the deployment can't be read.
    """
    if given.get("version"):
        check_reached(given["version"], oldest=str(examined_versions()[0]))
    if not reference.endswith(".toml"):
        return FitRequest(checkpoint=reference, argv=argv, **given)
    if argv:
        raise UsageError("a deployment has its own vLLM arguments", hint="edit its `args`")
    deployment = read_deployment(Path(reference))
    box = deployment.box
    own: dict[str, Any] = {
        "artifact": deployment.artifact,
        "device": deployment.device,
        "weights_gib": deployment.weights_gib,
        "total_gib": box.total_memory_gib,
        "reserve_gib": box.reserve_gib,
        "tenants": box.co_tenants,
        "jobs": _compiler_jobs(deployment),
        "chunks_as_full": _has_chunks_as_full(deployment),
        "env": deployment.env,
    }
    stated = {key: value for key, value in given.items() if value not in (None, "", 0, {}, "gb10")}
    return FitRequest(
        checkpoint=deployment.checkpoint,
        argv=deployment.args,
        **(own | stated),
        reference=reference,
    )
