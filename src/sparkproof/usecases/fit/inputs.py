"""What ``fit`` reads before it can add anything up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from sparkproof.adapters.files import is_there, read_file
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.units import plural
from sparkproof.memory.budget import Weights
from sparkproof.recipe.deployment_toml import parse_deployment
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint, read_from

_LIMIT_BYTES = 64 << 20
_EXACT = re.compile(r"(?:[a-z]+:)?vllm(?:\[[^]]*\])?\s*==\s*([^\s;,]+)\Z")


class CheckpointFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metadata of one checkpoint on this disk.

    Attributes:
        weight_bytes: of its tensors, 0 where no shard lies beside the metadata.
    """

    name: str
    config: bytes
    quantization: bytes | None = None
    weight_bytes: int = 0
    weight_source: str = ""


def read_checkpoint_files(reference: str) -> CheckpointFiles:
    """Read a checkpoint's metadata: a folder, a config.json, or ``org/name`` on the hub.

    Raises:
        UsageError: the reference can name no checkpoint.
        UnreachableError, FormatError: there is none, or its config is damaged.
    """
    return files_of(read_from(reference), reference)


def files_of(read: ReadCheckpoint, reference: str) -> CheckpointFiles:
    """What was read of a checkpoint, as ``fit`` takes it."""
    stored = read.profile.stored
    if stored:
        size, source = stored.bytes, f"headers of {plural(stored.shards, 'shard')}"
    else:
        size, source = _weights(Path(reference).expanduser())
    return CheckpointFiles(
        name=read.subject.name,
        config=read.files.get("config.json", b"{}"),
        quantization=read.files.get("hf_quant_config.json"),
        weight_bytes=size,
        weight_source=source,
    )


def read_deployment(path: Path) -> Deployment:
    """Read a deployment; its checkpoint is looked for beside it.

    Raises:
        UnreachableError, FormatError: as they say.
    """
    deployment = parse_deployment(read_file(path, _LIMIT_BYTES), path.name)
    beside = path.parent / deployment.checkpoint
    if is_there(beside):
        return msgspec.structs.replace(deployment, checkpoint=str(beside))
    return deployment


def version_of_artifact(reference: str) -> str:
    """The version that a requirement or a wheel's file name tells; "" where neither does."""
    match = _EXACT.match(reference.strip())
    if match:
        return match[1]
    name = reference.rsplit("/", 1)[-1]
    try:
        return str(parse_wheel_filename(name)[1]) if name.endswith(".whl") else ""
    except InvalidWheelFilename:
        return ""


def weights_of(
    target: CheckpointFiles, drafter: CheckpointFiles | None, layers: int, given_gib: float | None
) -> Weights | None:
    """Bytes of the weights: the user's word, or what the shards hold; None where unknown."""
    extra = drafter.weight_bytes if drafter else 0
    if given_gib is not None:
        if given_gib <= 0:
            raise UsageError(
                f"weights of {given_gib} GiB are no weights",
                hint="give what the boot log prints as model weights",
            )
        loaded = int(given_gib * (1 << 30))
        return Weights(
            loaded, 0, loaded=True, layers=max(layers, 1), why="given with --weights-gib"
        )
    if not target.weight_bytes:
        return None
    return Weights(target.weight_bytes, extra, layers=max(layers, 1), why=target.weight_source)


def _weights(folder: Path) -> tuple[int, str]:
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        total = _total_size(index)
        if total:
            return total, "total_size of the checkpoint's index"
    shards = sorted(folder.glob("*.safetensors"))
    size = sum(shard.stat().st_size for shard in shards)
    return size, f"sizes of {len(shards)} safetensors files" if shards else ""


def _total_size(index: Path) -> int:
    try:
        found = json.loads(read_file(index, _LIMIT_BYTES))["metadata"]["total_size"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return int(found) if isinstance(found, int | float) and 0 < found < 1 << 50 else 0
