"""``docker inspect`` or ``podman inspect`` of a container, as JSON.

What a container was made from stands in it under several names. ``Image`` is the engine's own id:
the digest of the config, or in docker's containerd store that of the manifest or index. A registry
knows an image by its manifest alone: podman tells that as ``ImageDigest``, docker with a containerd
store as ``ImageManifestDescriptor``. Sources: moby, api/types/container and daemon/inspect; podman,
libpod/define/container_inspect; checked 2026-11-30.
"""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError
from sparkproof.core.image_name import ID_MARK
from sparkproof.recipe.containers import Container, container_deployment
from sparkproof.recipe.mounts import bound

MAX_BYTES = 8 << 20
_ID = re.compile(r"(?:sha256:)?(?P<hex>[0-9a-f]{64})\Z")
_SHORTEST_ID = 6
_HINT = "save `docker inspect NAME`; of a checkpoint, name the folder or its config.json"


class ContainerState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a container stands or ended.

    Attributes:
        exit_code: -1 while it runs.
        started, finished: as the engine prints them ("" for never).
    """

    status: str
    exit_code: int
    oom_killed: bool
    started: str
    finished: str
    error: str = ""
    restarts: int = 0


class InspectedContainer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What inspecting a container tells.

    Attributes:
        image: the name it was started by.
        image_id: what the engine calls that image, ``sha256:<hex>`` ("" where it is not told).
        digest: of its manifest or index, by which a registry knows it ("" where it is not told).
        arguments: entrypoint and command in one.
        labels: the image's and the container's own.
        mounts: its folders to those of the host.
    """

    name: str
    image: str
    image_id: str
    digest: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    state: ContainerState
    labels: dict[str, str] = {}
    mounts: dict[str, str] = {}


def parse_docker_inspect(data: bytes, where: str) -> InspectedContainer:
    """Read the first container of the document.

    Raises:
        FormatError: no JSON, no container in it, or a field of another type.
    """
    if len(data) > MAX_BYTES:
        raise FormatError(f"larger than {MAX_BYTES} bytes", where=where)
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FormatError("no JSON", where=where, hint=_HINT) from error
    first = document[0] if isinstance(document, list) and document else document
    config = first.get("Config") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(config, dict):
        raise FormatError("no container in it", where=where, hint=_HINT)
    return InspectedContainer(
        name=_text(first.get("Name")).lstrip("/"),
        image=_text(config.get("Image")) or _text(first.get("ImageName")),
        image_id=_digest(first.get("Image")),
        digest=_manifest(first, config),
        arguments=(*_texts(config.get("Entrypoint")), *_texts(config.get("Cmd"))),
        environment=_environment(config.get("Env")),
        state=_state(first.get("State"), first.get("RestartCount")),
        labels=_labels(config.get("Labels")),
        mounts=_mounts(first.get("Mounts")),
    )


def deployment_of(container: InspectedContainer, where: str) -> Deployment:
    """The deployment that a container runs.

    Raises:
        FormatError: its command is no ``vllm serve`` or API server, or cannot be read.
    """
    started = Container(
        name=container.name,
        image=_artifact(container),
        words=container.arguments,
        environment=container.environment,
        mounts=container.mounts,
    )
    return container_deployment(started, where)


def _artifact(container: InspectedContainer) -> str:
    """The image by what a registry can find: its manifest, else the name with the id to expect."""
    name = container.image.partition("@")[0]
    sha256 = container.image_id.removeprefix("sha256:")
    if sha256.startswith(name.removeprefix("sha256:")) and len(name) >= _SHORTEST_ID:
        return f"engine:{name}"  # started by its id: only that engine has it
    if container.digest:
        return f"{name}@{container.digest}"
    return f"{name}{ID_MARK}{sha256}" if name and sha256 else name


def _manifest(first: dict[object, object], config: dict[object, object]) -> str:
    pinned = _text(config.get("Image")).partition("@")[2]
    described = first.get("ImageManifestDescriptor")
    told = described.get("digest") if isinstance(described, dict) else None
    found = (_digest(value) for value in (pinned, first.get("ImageDigest"), told))
    return next(filter(None, found), "")


def _digest(value: object) -> str:
    match = _ID.match(_text(value))
    return f"sha256:{match['hex']}" if match else ""


def _environment(value: object) -> dict[str, str]:
    pairs = (item.partition("=") for item in _texts(value))
    return {name: text for name, _, text in pairs if name}


def _mounts(value: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and item.get("Type") == "bind":
            found.update(bound(_text(item.get("Source")), _text(item.get("Destination"))))
    return found


def _labels(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _state(value: object, restarts: object) -> ContainerState:
    state = value if isinstance(value, dict) else {}
    status = _text(state.get("Status"))
    code = state.get("ExitCode")
    return ContainerState(
        status=status,
        exit_code=code if isinstance(code, int) and status != "running" else -1,
        oom_killed=state.get("OOMKilled") is True,
        started=_text(state.get("StartedAt")),
        finished=_text(state.get("FinishedAt")) if status != "running" else "",
        error=_text(state.get("Error")),
        restarts=restarts if isinstance(restarts, int) else 0,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
