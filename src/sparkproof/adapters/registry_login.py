"""User and password for a registry, from where engines keep them in plain form.

Credential helpers are other programs: they are never run, only named.
"""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path

from sparkproof.core.errors import FormatError
from sparkproof.formats.json_object import Fields, parse_json_object

_LIMIT_BYTES = 1 << 20
_HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io")
_HUB = "docker.io"


class RegistryLogin:
    """What the configuration files of docker and podman say."""

    def __init__(self, files: tuple[Path, ...] | None = None) -> None:
        self._files = _default_files() if files is None else files

    def for_registry(self, registry: str) -> tuple[str, str] | None:
        """User and password; the user is ``<token>`` where there is an identity token."""
        for fields in self._documents():
            auths = fields.table("auths")
            for key in _keys(registry):
                entry = auths.table(key) if auths and key in auths else None
                found = _decode(entry) if entry else None
                if found:
                    return found
        return None

    def helper(self, registry: str) -> str:
        """Name of the credential helper that would know; "" for none."""
        for fields in self._documents():
            helpers = fields.table("credHelpers")
            for key in _keys(registry):
                if helpers and key in helpers:
                    return helpers.text(key)
            store = fields.text("credsStore")
            if store:
                return store
        return ""

    def _documents(self) -> list[Fields]:
        found = []
        for path in self._files:
            try:
                data = path.read_bytes()[: _LIMIT_BYTES + 1]
                found.append(Fields(parse_json_object(data, path.name), path.name))
            except (OSError, FormatError):
                continue
        return found


def _default_files() -> tuple[Path, ...]:
    home = Path(os.environ.get("HOME", "/nonexistent"))
    docker = Path(os.environ.get("DOCKER_CONFIG") or home / ".docker")
    files = [docker / "config.json"]
    if explicit := os.environ.get("REGISTRY_AUTH_FILE"):
        files.insert(0, Path(explicit))
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        files.append(Path(runtime) / "containers" / "auth.json")
    return (*files, home / ".config" / "containers" / "auth.json")


def _keys(registry: str) -> tuple[str, ...]:
    if registry == _HUB:
        return _HUB_KEYS
    return (registry, f"https://{registry}", f"http://{registry}", f"https://{registry}/")


def _decode(entry: Fields) -> tuple[str, str] | None:
    try:
        token = entry.text("identitytoken")
        if token:
            return "<token>", token
        plain = base64.b64decode(entry.text("auth"), validate=True).decode()
    except (FormatError, binascii.Error, UnicodeDecodeError):
        return None
    user, colon, password = plain.partition(":")
    return (user, password) if colon else None
