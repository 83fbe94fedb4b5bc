"""A registry that lies, asks for a token, drops the line, has no arm64, or sends something else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract import images as forms
from tests.contract.images import SITE, base_entries, from_registry, metadata, script, small_image

from sparkproof.adapters.image import ImageArtifact
from sparkproof.adapters.registry import RegistryClient, RegistryImage
from sparkproof.adapters.registry_login import RegistryLogin
from sparkproof.core.errors import FormatError, SparkproofError, UnreachableError
from sparkproof.core.image_name import parse_image_name
from sparkproof.formats.image_parts import ImageParts
from sparkproof.testing import images
from sparkproof.testing.images import Image, ImageFolder
from sparkproof.testing.registry import RegistryFaults, RegistryServer

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

NOISE = hashlib.shake_256(b"noise").digest(3 << 20)
FILES = {"vllm/__init__.py": b"", "vllm/_C.so": NOISE, **metadata("vllm", "0.33.0")}
TAG = "vllm/vllm-openai:v1"


@pytest.fixture
def folder(tmp_path: Path) -> ImageFolder:
    return ImageFolder(tmp_path / "image")


@pytest.fixture
def image(folder: ImageFolder) -> Image:
    return small_image(folder, FILES)


@pytest.fixture
def server(
    folder: ImageFolder, image: Image, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[RegistryServer]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("DOCKER_CONFIG", "XDG_RUNTIME_DIR", "REGISTRY_AUTH_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with RegistryServer(folder, {TAG: image.manifest}) as running:
        yield running


def paths(artifact: ImageArtifact) -> list[str]:
    try:
        return [member.path for member in artifact.members()]
    finally:
        artifact.close()


WHOLE = ["vllm-0.33.0.dist-info/METADATA", "vllm/_C.so", "vllm/__init__.py"]


def client(server: RegistryServer, login: RegistryLogin | None = None) -> RegistryClient:
    return RegistryClient(parse_image_name(server.name(TAG)), login, pause=lambda _: None)


def test_by_tag_and_by_digest(server: RegistryServer, image: Image) -> None:
    assert paths(from_registry(server)) == WHOLE
    assert paths(from_registry(server, f"vllm/vllm-openai@{image.manifest}")) == WHOLE


def test_of_an_index_the_platform_is_taken_and_attestations_are_not(
    server: RegistryServer, folder: ImageFolder, image: Image
) -> None:
    other = folder.image(image.layers, architecture="amd64")
    server.tags[TAG] = folder.index_of({"amd64": other, "arm64": image})
    artifact = from_registry(server)
    parts = artifact.source.parts()
    assert (parts.manifest_digest, parts.index_digest) == (image.manifest, server.tags[TAG])
    assert paths(artifact) == WHOLE
    server.tags[TAG] = folder.index_of({"amd64": other})
    with pytest.raises(FormatError, match="no linux/arm64 image, only linux/amd64"):
        from_registry(server)


def documents(server: RegistryServer, meant: str) -> ImageParts:
    artifact = from_registry(server, f"{TAG}#{meant.replace(':', '=')}")
    artifact.close()
    return artifact.source.parts()


def test_the_image_that_is_meant_or_none(
    server: RegistryServer, folder: ImageFolder, image: Image
) -> None:
    """By the engine's id: its config's digest, or in some stores that of manifest or index."""
    index = folder.index_of({"arm64": image})
    server.tags[TAG] = index
    for known in (image.config, image.manifest, index):
        assert documents(server, known).config_digest == image.config
    server.tags[TAG] = small_image(folder, {**FILES, "vllm/new.py": b""}).manifest
    assert documents(server, image.manifest).manifest_digest == image.manifest
    with pytest.raises(UnreachableError, match="is another image today") as caught:
        documents(server, image.config)
    assert f"engine:{image.config[7:19]}" in caught.value.hint


@pytest.mark.parametrize("login", [None, ("me", "hunter2")])
def test_a_token_is_fetched_when_asked_for(
    server: RegistryServer, tmp_path: Path, login: tuple[str, str] | None
) -> None:
    server.faults = RegistryFaults(token=True, login=login)
    if login:
        config = tmp_path / "home" / ".docker" / "config.json"
        config.parent.mkdir(parents=True)
        secret = base64.b64encode(b"me:hunter2").decode()
        config.write_text(json.dumps({"auths": {server.host: {"auth": secret}}}))
    assert paths(from_registry(server)) == WHOLE
    assert [path for path, _ in server.requests].count("/token") == 1


def test_without_the_password_the_way_out_is_said(server: RegistryServer, tmp_path: Path) -> None:
    server.faults = RegistryFaults(token=True, login=("me", "hunter2"))
    with pytest.raises(UnreachableError, match="refuses us") as caught:
        from_registry(server)
    assert "docker login" in caught.value.hint
    config = tmp_path / "helper.json"
    config.write_text('{"credsStore": "secretservice"}')
    with pytest.raises(UnreachableError) as caught:
        RegistryImage(client(server, RegistryLogin((config,))), architecture="arm64")
    assert "docker-credential-secretservice" in caught.value.hint
    assert "not run" in caught.value.hint


def test_a_password_is_never_sent_without_tls(server: RegistryServer) -> None:
    server.faults = RegistryFaults(token=True, realm="http://example.invalid/token")
    name = parse_image_name(server.name(TAG))
    secure = RegistryClient(type(name)(name.registry, name.repository, name.tag), pause=print)
    with pytest.raises(SparkproofError, match="without TLS"):
        secure._answer('Bearer realm="http://example.invalid/token"')
    secure.close()


def test_what_is_absent_is_said(server: RegistryServer) -> None:
    with pytest.raises(UnreachableError, match="has no") as caught:
        from_registry(server, "vllm/vllm-openai:v2")
    assert "engine:" in caught.value.hint


def test_a_line_that_breaks_is_taken_up(server: RegistryServer, image: Image) -> None:
    largest = max(image.layers, key=lambda layer: layer.size_bytes)
    server.faults = RegistryFaults(drop_after=1 << 20, drops=2)
    assert paths(from_registry(server)) == WHOLE
    ranges = [wanted for path, wanted in server.requests if largest.digest in path]
    assert ranges[0] == ""
    assert ranges[1:] == [f"bytes={1 << 20}-", f"bytes={2 << 20}-"]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_other_bytes_than_the_digest_names_are_found(
    server: RegistryServer, image: Image, which: int
) -> None:
    digest = image.layers[which].digest
    for faults in (
        RegistryFaults(flip=digest),
        RegistryFaults(grow=digest),
        RegistryFaults(shrink=digest),
        RegistryFaults(swap={digest: image.layers[which - 1].digest}),
    ):
        server.faults = faults
        with pytest.raises(SparkproofError) as caught:
            paths(from_registry(server))
        assert caught.value.exit_code == 4


def test_another_manifest_or_config_is_found(
    server: RegistryServer, folder: ImageFolder, image: Image
) -> None:
    other = folder.image(image.layers, Labels={"other": "yes"})
    server.faults = RegistryFaults(swap={image.manifest: other.manifest})
    with pytest.raises(FormatError, match="another manifest"):
        from_registry(server, f"vllm/vllm-openai@{image.manifest}")
    server.faults = RegistryFaults(swap={image.config: other.config})
    with pytest.raises(FormatError, match="another config"):
        from_registry(server)


def test_what_is_no_runnable_image_is_said(server: RegistryServer, folder: ImageFolder) -> None:
    descriptor = {"digest": folder.blob(b"{}"), "size": 2, "mediaType": "application/x"}
    for document, word in (
        ({"schemaVersion": 1, "fsLayers": []}, "schema 1"),
        ({"schemaVersion": 2, "config": descriptor, "layers": [descriptor]}, "no runnable image"),
        ({"schemaVersion": 2}, "neither"),
        ({"schemaVersion": 2, "manifests": 7}, "manifests"),
    ):
        server.tags[TAG] = folder.blob(json.dumps(document).encode())
        with pytest.raises(FormatError, match=word):
            from_registry(server)


def test_only_layers_that_matter_are_fetched(
    server: RegistryServer, folder: ImageFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparkproof.formats.layer_plan.SMALL_BYTES", 1000)
    packages = "Package: cuda-nvcc-13-0\nStatus: install ok installed\nVersion: 13.0.88-1\n\n"
    toolkit = {"usr/local/cuda-13.0/bin/nvcc": NOISE + b"1", "opt/big": NOISE}
    status = {"var/lib/dpkg/status": packages.encode()}
    made = [
        folder.layer(base_entries(), "ADD rootfs"),
        folder.layer(
            images.files(toolkit), "RUN apt-get install -y cuda-nvcc-13-0", compression="tar"
        ),
        folder.layer(images.files({**FILES}, f"{SITE}/"), "RUN pip install vllm"),
        folder.layer(images.files(status), "RUN apt-get install -y curl", compression="tar"),
        folder.layer(script()),
    ]
    image = folder.image(made, **forms.CONFIG)
    server.tags[TAG] = image.manifest
    artifact = from_registry(server)
    assert paths(artifact) == WHOLE
    assert made[1].digest not in server.sent_bytes
    assert made[3].digest in server.sent_bytes, "it held the package database"
    fates = artifact.contents().fates
    assert [bool(fate.skipped) for fate in fates] == [False, True, False, False, False]
