"""What people describe a deployment with that is not read: named, with the way to one that is."""

from __future__ import annotations

import re
from pathlib import PurePath

from sparkproof.core.errors import FormatError

_WAYS = (
    (
        re.compile(r"^services:", re.MULTILINE),
        "a compose file",
        "docker compose -f {name} config --format json > deployment.json",
    ),
    (
        re.compile(r"^(?:apiVersion|kind):", re.MULTILINE),
        "a Kubernetes manifest",
        "kubectl create --dry-run=client -o json -f {name} > deployment.json",
    ),
    (
        re.compile(r"^(?:command|recipe_version|container|defaults|runtime):", re.MULTILINE),
        "a launcher's recipe",
        "start it and save `docker inspect NAME`, or give vLLM's words after `--`",
    ),
    (
        re.compile(r"^[a-z][\w-]*:", re.MULTILINE),
        "a file of vLLM arguments",
        "write them out after `--`, as `vllm serve MODEL --flag …` takes them",
    ),
)
_FILES = {
    ".service": (
        "a systemd unit is not read",
        "put what ExecStart= runs into a .sh file, with its Environment= lines as exports",
    ),
    ".container": (
        "a Quadlet unit is not read",
        "start it and save `podman inspect NAME`",
    ),
    ".py": (
        "a program is neither run nor read",
        "save `docker inspect NAME` of what it starts, or give vLLM's words after `--`",
    ),
    ".ps1": (
        "a PowerShell script is not read",
        "save `docker inspect NAME` of what it starts",
    ),
    ".env": (
        "variables alone are no deployment",
        "give them as --env NAME=VALUE beside one",
    ),
}
SUFFIXES = (".yaml", ".yml", *_FILES)


def refuse_form(text: str, where: str) -> FormatError:
    """The error for a file of a form that is not read."""
    path = PurePath(where)
    name = path.name
    if path.suffix in _FILES:
        message, hint = _FILES[path.suffix]
        return FormatError(message, where=where, hint=hint)
    for pattern, what, way in _WAYS:
        if pattern.search(text):
            return FormatError(
                f"{what} is not read as YAML", where=where, hint=way.format(name=name)
            )
    return FormatError("YAML is not read", where=where, hint="name a deployment TOML")
