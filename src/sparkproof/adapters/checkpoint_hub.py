"""A checkpoint in a repository on a model hub: metadata and headers, by range, at one commit."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from sparkproof.adapters.checkpoint_cache import CheckpointCache, Pinned
from sparkproof.adapters.checkpoint_listing import (
    ACCESS_HINT,
    TOKEN_HINT,
    UNSTATED,
    HubClient,
    HubName,
)
from sparkproof.adapters.checkpoint_local import CONFIG, LocalCheckpoint
from sparkproof.adapters.http import HttpClient, Remote
from sparkproof.adapters.patience import FetchError
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.ports import READ_LIMIT_BYTES, ByteSource
from sparkproof.core.refs import Ref, RefKind, redact_url
from sparkproof.core.subject import Subject

_NAME = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?)"
    r"(?:@(?P<revision>[\w./-]{1,120}))?\Z",
    re.ASCII,
)
_PATIENCE_BYTES = 1 << 20
_MAIN = "main"


def parse_hub_name(ref: Ref) -> HubName:
    """``org/name``, ``org/name@revision``, or the address of its page.

    Raises:
        UsageError: none of them.
    """
    text = ref.value
    if "://" in text:
        text = _from_address(text)
    match = _NAME.match(text)
    if not match or ".." in text:
        raise UsageError(
            f"`{ref.display}` is neither a checkpoint here nor a repository's name",
            hint="name a folder with config.json, or a repository as ORG/NAME or ORG/NAME@REVISION",
        )
    return HubName(match["repo"], match["revision"] or _MAIN)


def _from_address(text: str) -> str:
    path = redact_url(text).partition("://")[2].partition("/")[2].strip("/")
    repository, tree, revision = path.partition("/tree/")
    return f"{repository}@{revision}" if tree else path


def hub_endpoint() -> str:
    """``$HF_ENDPOINT``, else the hub library's own default."""
    stated = os.environ.get("HF_ENDPOINT", "").rstrip("/")
    if stated:
        return stated
    from huggingface_hub import constants  # noqa: PLC0415

    return str(constants.ENDPOINT)


class HubCheckpoint:
    """A `CheckpointSource` over one commit of a repository."""

    def __init__(
        self,
        ref: Ref,
        pinned: Pinned,
        endpoint: str,
        cache: CheckpointCache,
        client: HttpClient | None,
    ) -> None:
        """Wrap a listing; without a client only what is cached can be read."""
        self._pinned = pinned
        self._endpoint = endpoint
        self._cache = cache
        self._client = client
        where = redact_url(endpoint)
        self._subject = Subject(
            kind=RefKind.CHECKPOINT,
            ref=ref.display,
            identity=f"hub:{pinned.repository}@{pinned.commit}",
            name=pinned.repository,
            version=pinned.commit[:12],
            url=f"{where}/{pinned.repository}/tree/{pinned.commit}",
            notes=() if client else ("from the cache, as it was when it was last asked for",),
        )

    @property
    def subject(self) -> Subject:
        """As `CheckpointSource.subject`."""
        return self._subject

    def files(self) -> dict[str, int]:
        """As `CheckpointSource.files`."""
        return dict(self._pinned.files)

    def read(self, name: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """As `CheckpointSource.read`."""
        size = self._size(name)
        if size > limit_bytes:
            raise FormatError(f"larger than {limit_bytes} bytes", where=name)
        return self.read_range(name, 0, size)

    def open(self, name: str) -> ByteSource:
        """As `CheckpointSource.open`."""
        return _HubFile(self, name, self._size(name))

    def _size(self, name: str) -> int:
        """Bytes of a file; mirrors may leave them out of the listing."""
        size = self._pinned.files[name]
        if size != UNSTATED:
            return size
        if self._client is None:
            raise self._not_cached(name)
        size = self._client.probe(self._url(name)).size_bytes
        if size < 0:
            raise UnreachableError(
                f"nobody says how large {name} is", hint="fetch the checkpoint and name its folder"
            )
        files = {**self._pinned.files, name: size}
        self._pinned = msgspec.structs.replace(self._pinned, files=files)
        return size

    def _url(self, name: str) -> str:
        from huggingface_hub import hf_hub_url  # noqa: PLC0415

        pinned = self._pinned
        return hf_hub_url(pinned.repository, name, revision=pinned.commit, endpoint=self._endpoint)

    def _not_cached(self, name: str) -> UnreachableError:
        message = f"{name} of {self._pinned.repository} is not in the cache"
        return UnreachableError(message, hint="leave --offline out once")

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Those bytes of a file, from the cache where they were read before.

        Raises:
            UnreachableError: they can't be had.
        """
        length = max(min(length, self._size(name) - offset), 0)
        if not length:
            return b""
        kept = self._cache.get(self._endpoint, self._pinned, name, offset, length)
        if kept is not None:
            return kept
        data = self._fetch(name, offset, length)
        self._cache.put(self._endpoint, self._pinned, name, offset, data)
        return data

    def _fetch(self, name: str, offset: int, length: int) -> bytes:
        if self._client is None:
            raise self._not_cached(name)
        url = self._url(name)
        remote = Remote(url, self._size(name), "", ranges=True)
        whole = (offset, length) == (0, remote.size_bytes)
        try:
            if whole:
                return _beginning(self._client, remote, length)
            return _piece(self._client, remote, offset, length)
        except FetchError as error:
            if error.refused and self._pinned.gated:
                message = f"{self._pinned.repository} is gated"
                raise UnreachableError(message, hint=ACCESS_HINT) from error
            hint = TOKEN_HINT if error.refused else error.hint
            raise UnreachableError(f"{name}: {error.message}", hint=hint) from error

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()


def _beginning(client: HttpClient, remote: Remote, length: int) -> bytes:
    """The first bytes, without asking for a range; the line is dropped behind them.

    Raises:
        FetchError: they can't be had.
    """
    parts: list[bytes] = []
    with client.fetch(remote, 0) as (_, pieces):
        left = length
        for piece in pieces:
            parts.append(piece[:left])
            left -= len(parts[-1])
            if left <= 0:
                break
    if left:
        raise FetchError(f"{left} of {length} bytes were not sent")
    return b"".join(parts)


def _piece(client: HttpClient, remote: Remote, offset: int, length: int) -> bytes:
    """A range; a server that does not do ranges is listened to for as long as it takes.

    Raises:
        FetchError: it can't be had.
    """
    try:
        return client.read_range(remote, offset, length)
    except FetchError as error:
        end = offset + length
        if error.barred or error.refused or end > _PATIENCE_BYTES:
            raise
        return _beginning(client, remote, end)[offset:]


class _HubFile:
    def __init__(self, owner: HubCheckpoint, name: str, size: int) -> None:
        self._owner = owner
        self._name = name
        self._size = size

    @property
    def size_bytes(self) -> int:
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        return self._owner.read_range(self._name, offset, length)

    def close(self) -> None:
        """The connections belong to the checkpoint."""


def open_hub(
    ref: Ref, name: HubName, *, offline: bool = False, cache: CheckpointCache | None = None
) -> HubCheckpoint | LocalCheckpoint:
    """Pin a revision to its commit and list the repository.

    Offline the hub library's own cache is looked at first, then what was read before.

    Raises:
        UnreachableError: absent, private, gated, or the hub can't be reached.
    """
    cache = cache or CheckpointCache()
    endpoint = hub_endpoint()
    if offline or os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        found = _in_library_cache(ref, name)
        if found is not None:
            return found
        pinned = cache.recall(endpoint, name.repository, name.revision)
        if pinned is None:
            raise UnreachableError(
                f"{name.repository} is not in the cache", hint="leave --offline out once"
            )
        return HubCheckpoint(ref, pinned, endpoint, cache, None)
    client = HubClient(bearer=_token())
    try:
        pinned = client.list(name, endpoint)
        cache.remember(endpoint, name.revision, pinned)
    except UnreachableError:
        client.close()
        raise
    return HubCheckpoint(ref, pinned, endpoint, cache, client)


def _token() -> str:
    from huggingface_hub import get_token  # noqa: PLC0415

    return get_token() or ""


def _in_library_cache(ref: Ref, name: HubName) -> LocalCheckpoint | None:
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415

    found = try_to_load_from_cache(name.repository, CONFIG, revision=name.revision)
    if not isinstance(found, str):
        return None
    folder = Path(found).parent
    shards = any(entry.suffix == ".safetensors" for entry in folder.iterdir())
    return LocalCheckpoint(ref, folder) if shards else None
