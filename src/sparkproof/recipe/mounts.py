"""Folders of the host that a container sees under names of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from sparkproof.recipe.shell_text import from_home, unreadable

_HOST = re.compile(r"[/.~]")


def mount_of(option: str, value: str) -> dict[str, str]:
    """What one ``-v`` or ``--mount`` binds: the container's folder to the host's.

    Nothing of named volumes, whose place only the engine knows, nor of what the shell fills in.
    """
    if option == "--mount":
        parts = dict(part.partition("=")[::2] for part in value.split(","))
        source = parts.get("source", parts.get("src", ""))
        target = parts.get("target", parts.get("destination", parts.get("dst", "")))
        return bound(source, target) if parts.get("type") == "bind" else {}
    source, _, rest = from_home(value).partition(":")
    return bound(source, rest.partition(":")[0])


def bound(source: str, target: str) -> dict[str, str]:
    """One mount, or none where either side is no folder that can be named here."""
    source = from_home(source)
    if not _HOST.match(source) or not target.startswith("/") or unreadable((source, target)):
        return {}
    return {target: source}


def host_path(path: str, mounts: Mapping[str, str]) -> str:
    """Where a container's path lies on the host: by the innermost mount above it, else itself."""
    inside = PurePosixPath(path)
    if not inside.is_absolute():
        return path
    above = [target for target in mounts if inside.is_relative_to(target)]
    if not above:
        return path
    target = max(above, key=lambda name: len(PurePosixPath(name).parts))
    rest = inside.relative_to(target).as_posix()
    source = mounts[target].rstrip("/")
    return source or "/" if rest == "." else f"{source}/{rest}"
