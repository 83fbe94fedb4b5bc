"""Images in a registry: documents by digest, layers by range, on the assumption that it lies.

Protocol: OCI distribution specification 1.1; token flow: distribution, "Token Authentication
Specification"; checked 2026-11-29.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import urlencode, urlsplit

import httpx2

from sparkproof.adapters.beside import verified
from sparkproof.adapters.http import HttpClient, Remote
from sparkproof.adapters.image_source import check_parts, digest_of
from sparkproof.adapters.patience import DroppedError, FetchError
from sparkproof.adapters.registry_login import RegistryLogin
from sparkproof.core.errors import FormatError, SparkproofError
from sparkproof.core.image_name import DEFAULT_REGISTRY, DIGEST, ImageName
from sparkproof.formats.image_parts import ImageParts
from sparkproof.formats.json_object import Fields, parse_json_object
from sparkproof.formats.oci import (
    DOCUMENT_LIMIT_BYTES,
    MANIFEST_TYPES,
    Descriptor,
    Manifest,
    choose_platform,
    parse_document,
)

_HUB_API = "registry-1.docker.io"
_CHALLENGE = re.compile(r'(?P<key>[A-Za-z]+)="(?P<value>[^"]*)"')
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)\Z")
_MAX_TAGS = 20_000
_TOKEN_USER = "<token>"  # noqa: S105


class RegistryClient(HttpClient):
    """HTTP with the registry's token flow and its own way to say no."""

    def __init__(
        self,
        name: ImageName,
        login: RegistryLogin | None = None,
        *,
        transport: httpx2.BaseTransport | None = None,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(transport=transport, pause=pause)
        self.image = name
        self._login = login or RegistryLogin()
        self._authorization = ""
        host = _HUB_API if name.registry == DEFAULT_REGISTRY else name.registry
        self._base = f"{'http' if name.plain else 'https'}://{host}/v2/"

    def url(self, kind: str, reference: str) -> str:
        """Address of a manifest, blob or list of tags."""
        return f"{self._base}{self.image.repository}/{kind}/{reference}"

    def document(self, reference: str) -> tuple[bytes, str]:
        """A manifest or index by tag or digest, and its digest, which is checked.

        Raises:
            FetchError: it can't be had.
            FormatError: it is not what its digest says.
        """
        data = self._small(self.url("manifests", reference))
        found = digest_of(data)
        if DIGEST.match(reference) and found != reference:
            raise FormatError(
                f"the registry sends another manifest than {reference[:19]}…",
                where=self.image.title,
                hint="a proxy or mirror may have replaced it",
            )
        return data, found

    def small_blob(self, descriptor: Descriptor) -> bytes:
        """A config.

        Raises:
            FetchError, FormatError: as `document`.
        """
        data = self._small(self.url("blobs", descriptor.digest))
        if digest_of(data) != descriptor.digest:
            raise FormatError(
                "the registry sends another config than its manifest names",
                where=self.image.title,
            )
        return data

    def tags(self) -> tuple[str, ...]:
        """Names of all tags, as far as the first page goes.

        Raises:
            FetchError, FormatError: as they say.
        """
        data = self._small(self.url("tags", "list?n=10000"))
        fields = Fields(parse_json_object(data, "tags"), "tags")
        return fields.texts("tags")[:_MAX_TAGS]

    def blob(self, descriptor: Descriptor) -> Iterator[bytes]:
        """A layer front to back, resumed where the line breaks, its digest checked at the end.

        Raises:
            FetchError: it can't be had.
            FormatError: it is not what its digest and size say.
        """
        sha256 = descriptor.digest.removeprefix("sha256:")
        where = f"{self.image.title}!{descriptor.digest[:19]}"
        return verified(self._blob(descriptor), sha256, descriptor.size_bytes, where)

    def _blob(self, descriptor: Descriptor) -> Iterator[bytes]:
        url = self.url("blobs", descriptor.digest)
        remote = Remote(url, descriptor.size_bytes, "", ranges=True)
        at = 0
        patience = self.patience()
        while True:
            before = at
            try:
                for piece in self._from(remote, at):
                    at += len(piece)
                    yield piece
            except DroppedError as error:
                patience.rest(error, at - before)
            else:
                return

    def _from(self, remote: Remote, at: int) -> Iterator[bytes]:
        """One attempt at the rest of a layer.

        Raises:
            DroppedError: it ended early.
        """
        with self.fetch(remote, at) as (start, pieces):
            behind = at - start
            for piece in pieces:
                fresh = piece[behind:]
                behind -= len(piece) - len(fresh)
                at += len(fresh)
                yield fresh
        if at < remote.size_bytes:
            raise DroppedError(f"{self.image.registry} ended a layer early")

    def _small(self, url: str) -> bytes:
        try:
            return self.fetch_small(url, DOCUMENT_LIMIT_BYTES)
        except FormatError as error:
            raise FormatError("the registry sends no end", where=self.image.title) from error

    def _send(
        self,
        url: str,
        headers: dict[str, str],
        auth: tuple[str, str] | None,
        method: str = "GET",
    ) -> httpx2.Response:
        headers = {**headers, "Accept": ", ".join((*MANIFEST_TYPES, "*/*"))}
        response = super()._send(url, self._authorized(headers), auth, method)
        if response.status_code == 401:
            challenge = response.headers.get("www-authenticate", "")
            response.close()
            self._authorization = self._answer(challenge)
            response = super()._send(url, self._authorized(headers), auth, method)
        if response.status_code in (401, 403, 404):
            response.close()
            raise self._refused(response.status_code)
        return response

    def _authorized(self, headers: dict[str, str]) -> dict[str, str]:
        if not self._authorization:
            return headers
        return {**headers, "Authorization": self._authorization}

    def _answer(self, challenge: str) -> str:
        """The Authorization header for what the registry asks."""
        scheme = challenge.partition(" ")[0].lower()
        known = self._login.for_registry(self.image.registry)
        if scheme == "basic" and known:
            return "Basic " + base64.b64encode(":".join(known).encode()).decode()
        fields = {m["key"].lower(): m["value"] for m in _CHALLENGE.finditer(challenge)}
        realm = fields.get("realm", "")
        if scheme != "bearer" or not realm:
            raise self._refused(401)
        address = urlsplit(realm)
        safe = address.scheme == "https" or (
            address.scheme == "http"
            and (self.image.plain or bool(_LOOPBACK.match(address.hostname or "")))
        )
        if not safe:
            raise FetchError(f"{self.image.registry} wants a token from an address without TLS")
        scope = fields.get("scope") or f"repository:{self.image.repository}:pull"
        return "Bearer " + self._token(realm, fields.get("service", ""), scope, known)

    def _token(self, realm: str, service: str, scope: str, known: tuple[str, str] | None) -> str:
        query = urlencode({"service": service, "scope": scope})
        url = f"{realm}{'&' if '?' in realm else '?'}{query}"
        login = known if known and known[0] != _TOKEN_USER else None
        if known and login is None:
            form = {"grant_type": "refresh_token", "refresh_token": known[1], "scope": scope}
            response = self._post(realm, {**form, "service": service, "client_id": "sparkproof"})
        else:
            response = super()._send(url, {}, login)
        try:
            if response.status_code != 200:
                raise self._refused(response.status_code)
            data = self._whole(response, url, DOCUMENT_LIMIT_BYTES)
        finally:
            response.close()
        fields = Fields(parse_json_object(data, "token"), "token")
        token = fields.text("token") or fields.text("access_token")
        if not token.isascii() or not token.isprintable() or not token:
            raise self._refused(401)
        return token

    def _post(self, url: str, form: dict[str, str]) -> httpx2.Response:
        try:
            request = self._client.build_request("POST", url, data=form)
            return self._in_time(partial(self._client.send, request, stream=True))
        except httpx2.HTTPError as error:
            raise DroppedError(f"{self.image.registry} gives no token") from error

    def _refused(self, status: int) -> FetchError:
        title = self.image.title
        if status == 404:
            return FetchError(
                f"{self.image.registry} has no {title}",
                hint=f"an image of this machine's engine is `engine:{self.image.base}`",
            )
        helper = self._login.helper(self.image.registry)
        hint = f"`docker login {self.image.registry}` first"
        if helper:
            hint = (
                f"its password is with the helper docker-credential-{helper}, which is not run; "
                "save the image to an archive instead"
            )
        return FetchError(
            f"{self.image.registry} refuses us {title} ({status}): "
            "it does not exist, or needs a login",
            hint=hint,
        )


class RegistryImage:
    """An `ImageSource` over a registry."""

    ordered = True
    remote = True

    def __init__(self, client: RegistryClient, *, architecture: str) -> None:
        """Fetch the documents.

        Args:
            client: is closed with the image, or at once where there is none.

        Raises:
            FetchError, FormatError: as they say.
        """
        self._client = client
        self.image = client.image
        self.name = client.image.title.rsplit("/", 1)[-1]
        try:
            self._layers, self._parts = _fetch_documents(client, architecture)
        except SparkproofError:
            client.close()
            raise

    def parts(self) -> ImageParts:
        """As `ImageSource.parts`."""
        return self._parts

    def layers(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Iterator[bytes]]]:
        """As `ImageSource.layers`."""
        by_digest = {layer.digest: layer for layer in self._layers}
        for key in dict.fromkeys(reversed(self._parts.keys)):
            if wanted(key):
                yield key, self._client.blob(by_digest[key])

    def tags(self) -> tuple[str, ...]:
        """As `RegistryClient.tags`."""
        return self._client.tags()

    def close(self) -> None:
        """As `ImageSource.close`."""
        self._client.close()


def _fetch_documents(
    client: RegistryClient, architecture: str
) -> tuple[tuple[Descriptor, ...], ImageParts]:
    where = client.image.title
    data, digest = client.document(client.image.reference)
    document = parse_document(data, where)
    index_digest = ""
    if not isinstance(document, Manifest):
        index_digest = digest
        chosen = choose_platform(document, architecture, where).descriptor
        data, digest = client.document(chosen.digest)
        document = parse_document(data, where)
    if not isinstance(document, Manifest):
        raise FormatError("is an index of indexes", where=where)
    config = client.small_blob(document.config)
    return document.layers, ImageParts(
        config=check_parts(config, len(document.layers), where),
        config_digest=document.config.digest,
        keys=tuple(layer.digest for layer in document.layers),
        stored_bytes=tuple(layer.size_bytes for layer in document.layers),
        manifest_digest=digest,
        index_digest=index_digest,
        tags=(client.image.title,),
    )
