"""What a model hub says of one revision of a repository: its commit, and its files.

The address and the header with the reason of a refusal are those of the hub's API, as its own
client asks for them (``huggingface_hub`` 2.4.0, ``HfApi.model_info``; checked 2026-11-30).
"""

from __future__ import annotations

import re
from urllib.parse import quote

import httpx2
import msgspec

from sparkproof.adapters.checkpoint_cache import Pinned
from sparkproof.adapters.http import HttpClient
from sparkproof.adapters.patience import DroppedError, FetchError
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.refs import redact_url
from sparkproof.formats.json_object import SIZE_LIMIT_BYTES, Fields, Json, parse_json_object

UNSTATED = -1
"""Size of a file that the listing does not tell."""
TOKEN_HINT = "set HF_TOKEN, or log in with `hf auth login`"  # noqa: S105
ACCESS_HINT = "accept its terms on its page with your account, then " + TOKEN_HINT
_COMMIT = re.compile(r"[0-9a-f]{40,64}\Z")
_MAX_SIZE_BYTES = 1 << 50
_REASON = "x-error-code"
_NO_REVISION, _NO_REPOSITORY, _GATED = "RevisionNotFound", "RepoNotFound", "GatedRepo"


class HubName(msgspec.Struct, frozen=True):
    """A repository and what revision of it was asked for."""

    repository: str
    revision: str = "main"


class HubClient(HttpClient):
    """HTTP with the hub's own way to say no to a question about a repository."""

    def list(self, name: HubName, endpoint: str) -> Pinned:
        """Commit and files of a revision.

        Raises:
            UnreachableError: one line with the way out.
        """
        host = redact_url(endpoint).partition("://")[2] or "the hub"
        revision = quote(name.revision, safe="")
        url = f"{endpoint}/api/models/{name.repository}/revision/{revision}?blobs=true"
        try:
            data = self.fetch_small(url, SIZE_LIMIT_BYTES)
            return _pinned(name, Fields(parse_json_object(data, "listing"), "listing"), host)
        except FormatError as error:
            raise UnreachableError(
                f"{host} does not answer like a model hub: {error.reason}", hint="check HF_ENDPOINT"
            ) from error
        except FetchError as error:
            if error.status:
                raise _refusal(name, host, error) from error
            raise UnreachableError(
                error.message,
                hint="check the network and HF_ENDPOINT, or use what is cached with --offline",
            ) from error

    def refusal(self, response: httpx2.Response, url: str) -> FetchError | None:
        """As `HttpClient.refusal`, with the hub's word for the reason."""
        error = super().refusal(response, url)
        if error:
            error.reason = response.headers.get(_REASON, "")
        return error


def _refusal(name: HubName, host: str, error: FetchError) -> UnreachableError:
    status, reason = error.status, error.reason
    if reason == _GATED:
        return UnreachableError(f"{name.repository} is gated", hint=ACCESS_HINT)
    if reason == _NO_REVISION:
        return UnreachableError(
            f"{name.repository} has no revision `{name.revision}`", hint="leave @REVISION out"
        )
    if reason == _NO_REPOSITORY or status in (401, 404):
        return UnreachableError(
            f"{host} has no repository `{name.repository}`, or it is private",
            hint=f"check the name; for a private one {TOKEN_HINT}",
        )
    again = isinstance(error, DroppedError)
    hint = "try again later, or with --offline" if again else TOKEN_HINT
    return UnreachableError(f"{host} refuses ({status})", hint=hint)


def _pinned(name: HubName, fields: Fields, host: str) -> Pinned:
    commit = fields.text("sha")
    if not _COMMIT.match(commit):
        raise UnreachableError(
            f"{host} does not say which commit `{name.revision}` is", hint="check HF_ENDPOINT"
        )
    siblings = fields.raw.get("siblings")
    files = dict(_file(entry) for entry in (siblings if isinstance(siblings, list) else ()))
    files.pop("", None)
    return Pinned(name.repository, commit, files, gated=bool(fields.raw.get("gated")))


def _file(entry: Json) -> tuple[str, int]:
    """Name and size of a file beside config.json; no name for another."""
    if not isinstance(entry, dict):
        raise FormatError("a file is no object", where="listing")
    name, size = entry.get("rfilename"), entry.get("size")
    if not isinstance(name, str) or "/" in name or name in (".", ".."):
        return "", UNSTATED
    if size is None:
        return name, UNSTATED
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_SIZE_BYTES:
        raise FormatError("a file has no size that can be", where="listing")
    return name, size
