"""Names of container images: registry, repository, tag, digest.

Grammar: distribution/reference, `reference.go` (domain, path, tag, digest), and Docker's rule
that a first part without a dot, colon or the word localhost is no registry; checked 2026-11-29.
"""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.errors import UsageError
from sparkproof.core.refs import redact_url

_LOGIN = re.compile(r"\A(https?://)?[^/@\s]+:[^/@\s]*@(?!(?:sha256:)?[0-9a-f]{12,}(?:#|\Z))")
"""Before the host, and so before the first slash; a tag before a digest looks alike."""
DEFAULT_REGISTRY = "docker.io"
DEFAULT_TAG = "latest"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
ID_MARK = "#sha256="
_HOST = re.compile(
    r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?\Z"
)
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*\Z")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\Z")
_SCHEMES = ("http://", "https://")
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?\Z")


class ImageName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an image is asked for.

    Attributes:
        tag: "" where only a digest is given.
        digest: of the manifest or index, ``sha256:<hex>``; "" for none.
        expected: what an engine calls the image that is meant, ``sha256:<hex>`` ("" for none): the
            digest of its config or, in some stores, of its manifest or index.
        plain: HTTP without TLS: on the loopback interface, or because the user wrote ``http://``.
    """

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""
    plain: bool = False
    expected: str = ""

    @property
    def reference(self) -> str:
        """What the registry's API takes: the digest, else the tag."""
        return self.digest or self.tag

    @property
    def title(self) -> str:
        """As people write it, with the tag that was left out."""
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.base}{tag}{digest}"

    @property
    def base(self) -> str:
        """``registry/repository``; Docker's own registry is left out."""
        if self.registry != DEFAULT_REGISTRY:
            return f"{self.registry}/{self.repository}"
        return self.repository.removeprefix("library/")

    def pinned(self, digest: str) -> str:
        """The name to deploy by."""
        return f"{self.base}@{digest}"


def parse_image_name(text: str) -> ImageName:
    """``vllm/vllm-openai:v0.33.0``, ``127.0.0.1:5000/x@sha256:…``, ``http://host/x:tag``.

    ``#sha256=<hex>`` behind it says which image the name has to lead to.

    Raises:
        UsageError: no name of an image.
    """
    scheme = next((s for s in _SCHEMES if text.startswith(s)), "")
    named, mark, meant = text.partition(ID_MARK)
    expected = f"sha256:{meant}" if mark else ""
    if mark and not DIGEST.match(expected):
        raise _bad(text, f"behind {ID_MARK} stand 64 hex digits")
    rest, at, digest = named.removeprefix(scheme).partition("@")
    if at and not DIGEST.match(digest):
        raise _bad(text, "the digest is no sha256:<64 hex digits>")
    head, slash, tail = rest.partition("/")
    if scheme or (slash and (re.search(r"[.:\[]", head) or head == "localhost")):
        registry, rest = head, tail
    else:
        registry = DEFAULT_REGISTRY
    repository, colon, tag = rest.rpartition(":") if ":" in rest else (rest, "", "")
    if registry == DEFAULT_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    if not _HOST.match(registry) or not _REPOSITORY.match(repository) or len(repository) > 255:
        raise _bad(text, "it names no repository")
    if colon and not _TAG.match(tag):
        raise _bad(text, "its tag can't be one")
    if not tag and not digest:
        tag = DEFAULT_TAG
    plain = scheme == "http://" or (not scheme and bool(_LOOPBACK.match(registry)))
    return ImageName(registry, repository, tag, digest, plain, expected)


def _bad(text: str, why: str) -> UsageError:
    shown = _LOGIN.sub(r"\1[redacted]@", redact_url(text))
    return UsageError(
        f"`{shown}` is no image: {why}",
        hint="e.g. vllm/vllm-openai:v0.33.0, a saved archive (./image.tar) or engine:NAME",
    )
