"""Compose files and Kubernetes objects, as JSON: `docker compose config --format json` and
`kubectl get -o json` print them with everything filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError
from sparkproof.recipe.containers import Container, container_deployment
from sparkproof.recipe.docker_inspect import deployment_of, parse_docker_inspect
from sparkproof.recipe.mounts import bound, mount_of
from sparkproof.recipe.own_variables import SECRETS, own_variables
from sparkproof.recipe.serve_command import serve_words, shell_text

_OF_MODELS = ("architectures", "model_type", "quantization_config", "quant_method", "quantization")
_REFERENCE = re.compile(r"\$\((\w+)\)", re.ASCII)
_MAX_FILLED = 1 << 20


def parse_saved_json(data: bytes, where: str) -> Deployment:
    """A deployment from whichever tool's JSON this is.

    Raises:
        FormatError: none that is known, or it describes no deployment that can be read.
    """
    document = _decoded(data)
    if isinstance(document, dict) and (
        isinstance(document.get("services"), dict) or isinstance(document.get("kind"), str)
    ):
        return orchestrated(document, where)
    if document is not None and not is_inspection(data):
        raise FormatError(
            "neither a checkpoint's config nor a container, compose file or Kubernetes object",
            where=where,
            hint="save `docker inspect NAME`, or name the checkpoint's folder",
        )
    return deployment_of(parse_docker_inspect(data, where), where)


def is_inspection(data: bytes) -> bool:
    """Whether it is what `docker inspect` prints: objects that have a `Config`."""
    document = _decoded(data)
    first = document[0] if isinstance(document, list) and document else document
    return isinstance(first, dict) and isinstance(first.get("Config"), dict)


def is_model_config(data: bytes) -> bool:
    """Whether it is the config of a checkpoint, or its quantization block, whatever its name."""
    document = _decoded(data)
    return isinstance(document, dict) and any(key in document for key in _OF_MODELS)


def _decoded(data: bytes) -> Any:
    """The document, None for anything that is no JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def orchestrated(document: dict[str, Any], where: str) -> Deployment:
    """The one deployment that a document describes.

    Raises:
        FormatError: no container of it, or more than one, serves a model with vLLM; or its
            settings stand somewhere else.
    """
    containers = list(_services(document) if "services" in document else _pods(document, where))
    serving = [item for item in containers if _serves(item)]
    if len(serving) != 1:
        names = ", ".join(item.name for item in serving or containers)
        many = "more than one container of it serves" if serving else "no container of it serves"
        raise FormatError(
            f"{many} a model with vLLM: {names[:200] or 'there is none'}",
            where=where,
            hint="name one: `docker compose config --format json SERVICE`; or `docker inspect`",
        )
    return container_deployment(serving[0], where)


def _serves(container: Container) -> bool:
    text = shell_text(container.words)
    return "vllm" in text if text is not None else serve_words(container.words) is not None


def _services(document: dict[str, Any]) -> Iterator[Container]:
    """Containers of a compose file; a command without its program follows the image's own."""
    for name, service in document["services"].items():
        if not isinstance(service, dict):
            continue
        entrypoint, command = _words(service.get("entrypoint")), _words(service.get("command"))
        words = tuple(word.replace("$$", "$") for word in (*entrypoint, *command))
        yield Container(
            name=_text(service.get("container_name")) or str(name),
            image=_text(service.get("image")),
            words=_with_program(words, bool(entrypoint)),
            environment=_environment(service.get("environment")),
            mounts=_mounts(service.get("volumes")),
        )


def _pods(document: dict[str, Any], where: str) -> Iterator[Container]:
    """Containers of a Pod, or of whatever has a template of one."""
    if isinstance(document.get("items"), list):
        for item in document["items"]:
            if isinstance(item, dict):
                yield from _pods(item, where)
        return
    spec = document.get("spec")
    while isinstance(spec, dict) and "containers" not in spec:
        template = spec.get("template") or spec.get("jobTemplate")
        spec = template.get("spec") if isinstance(template, dict) else None
    for item in _objects(spec, "containers", where) if isinstance(spec, dict) else ():
        yield _pod_container(item, where)


def _pod_container(item: dict[str, Any], where: str) -> Container:
    name = _text(item.get("name"))
    command, arguments = _words(item.get("command")), _words(item.get("args"))
    words = _with_program((*command, *arguments), bool(command))
    environment: dict[str, str] = {}
    serving = serve_words(words) is not None or shell_text(words) is not None
    if serving and item.get("envFrom"):
        raise FormatError(
            f"`envFrom` of `{name}` is not read: it may set anything",
            where=where,
            hint="write its variables under `env`",
        )
    for entry in _objects(item, "env", where):
        variable = _text(entry.get("name"))
        if isinstance(entry.get("value"), str):
            environment[variable] = entry["value"]
        elif serving and variable not in SECRETS and own_variables({variable: ""}):
            raise FormatError(
                f"`valueFrom` of `{variable}` is not read",
                where=where,
                hint="write its value, or leave the variable out",
            )
    filled = _filled(words, environment, where)
    return Container(name, _text(item.get("image")), filled, environment)


def _objects(around: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    value = around.get(key)
    if value is not None and not isinstance(value, list):
        raise FormatError(
            f"`{key}` is no list", where=where, hint="save `kubectl get -o json` as it is"
        )
    return [item for item in value or () if isinstance(item, dict)]


def _filled(words: tuple[str, ...], environment: dict[str, str], where: str) -> tuple[str, ...]:
    """The words with their variables, which may be named as often as one likes."""
    left = _MAX_FILLED

    def value(match: re.Match[str]) -> str:
        nonlocal left
        found = environment.get(match[1], match[0])
        left -= len(found)
        if left < 0:
            raise FormatError(
                f"its variables fill in more than {_MAX_FILLED} characters",
                where=where,
                hint="write a deployment TOML by hand: `sparkproof explain deployment`",
            )
        return found

    return tuple(_REFERENCE.sub(value, word) for word in words)


def _with_program(words: tuple[str, ...], has_program: bool) -> tuple[str, ...]:
    """Flags alone go to the image's own entrypoint, which for vLLM's images is `vllm serve`."""
    if not has_program and words and words[0].startswith("--"):
        return ("vllm", "serve", *words)
    return words


def _environment(value: object) -> dict[str, str]:
    if isinstance(value, list):
        pairs = (item.partition("=") for item in value if isinstance(item, str))
        return {name: text for name, equals, text in pairs if equals}
    if isinstance(value, dict):
        return {str(k): str(v) for k, v in value.items() if isinstance(v, str | int | float)}
    return {}


def _mounts(volumes: object) -> dict[str, str]:
    """As `docker compose config` writes them out, or in the short form of a file."""
    found: dict[str, str] = {}
    for item in volumes if isinstance(volumes, list) else ():
        if isinstance(item, str):
            found.update(mount_of("-v", item))
        elif isinstance(item, dict) and item.get("type") == "bind":
            found.update(bound(_text(item.get("source")), _text(item.get("target"))))
    return found


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list):
        return tuple(str(item) for item in value if isinstance(item, str | int | float))
    return ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
