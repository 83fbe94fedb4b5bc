"""A real registry on the loopback address: push, then look through the installed command."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.contract.images import CONFIG as CONFIG_OF_IMAGE
from tests.contract.images import SITE, base_entries, metadata, script, small_image
from tests.e2e.conftest import Run

from sparkproof.testing import images
from sparkproof.testing.images import Image, ImageFolder

pytestmark = [pytest.mark.e2e, pytest.mark.allow_hosts(["127.0.0.1"])]

PROGRAM = shutil.which("docker-registry") or shutil.which("registry")
CONFIG = """
version: 0.1
storage:
  filesystem:
    rootdirectory: {folder}
http:
  addr: 127.0.0.1:{port}
"""
LIBRARY = Path(__file__).resolve().parents[1] / "data" / "device_code" / "mixed_many.so"
FILES = {
    "vllm/__init__.py": b"",
    "vllm/_version.py": b"version = '0.33.0'\n",
    "vllm/_C.abi3.so": LIBRARY.read_bytes(),
    **metadata("vllm", "0.33.0"),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    if PROGRAM is None:
        pytest.skip("docker-registry is not on this machine (Debian's package docker-registry)")
    port = free_port()
    config = tmp_path / "registry.yml"
    config.write_text(CONFIG.format(folder=tmp_path / "registry", port=port))
    log = (tmp_path / "registry.log").open("wb")
    process = subprocess.Popen([PROGRAM, "serve", str(config)], stdout=log, stderr=log)
    try:
        await_answer(process, f"http://127.0.0.1:{port}/v2/")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)
        log.close()


def await_answer(process: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(100):
        assert process.poll() is None, "the registry ended"
        try:
            if httpx2.get(url, timeout=2).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    pytest.fail("the registry does not answer")


def push(registry: str, folder: ImageFolder, digests: list[str], tag: str, top: str) -> str:
    """Push blobs and documents; the digest of the top document as the registry tells it."""
    base = f"http://{registry}/v2/vllm/vllm-openai"
    with httpx2.Client(timeout=30) as client:
        for digest in digests:
            place = client.post(f"{base}/blobs/uploads/").headers["location"]
            mark = "&" if "?" in place else "?"
            answer = client.put(f"{place}{mark}digest={digest}", content=folder.read(digest))
            assert answer.status_code == 201, answer.text
        data = folder.read(top)
        kind = json.loads(data)["mediaType"]
        answer = client.put(f"{base}/manifests/{tag}", content=data, headers={"Content-Type": kind})
        assert answer.status_code == 201, answer.text
        return str(answer.headers["docker-content-digest"])


def push_image(registry: str, folder: ImageFolder, image: Image, tag: str) -> str:
    blobs = [image.config, *(layer.digest for layer in image.layers)]
    return push(registry, folder, blobs, tag, image.manifest)


def looked(run: Run, *words: str) -> dict[str, Any]:
    done = run("image", *words, "--json")
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode in (0, 1), answer
    return answer


def test_the_same_from_the_registry_and_from_its_archives(
    run: Run, registry: str, tmp_path: Path
) -> None:
    folder = ImageFolder(tmp_path / "image")
    image = small_image(folder, FILES, name="vllm/vllm-openai:v0.33.0")
    pinned = push_image(registry, folder, image, "v0.33.0")
    assert pinned == image.manifest
    places = {
        "registry": f"{registry}/vllm/vllm-openai:v0.33.0",
        "digest": f"{registry}/vllm/vllm-openai@{pinned}",
        "layout": str(folder.folder),
        "archive": str(folder.write_oci_archive(tmp_path / "oci.tar")),
        "saved": str(folder.write_saved(image, tmp_path / "saved.tar")),
    }
    answers = {name: looked(run, place) for name, place in places.items()}
    first = answers["registry"]
    assert first["result"]["pin"] == f"{registry}/vllm/vllm-openai@{pinned}"
    for name, answer in answers.items():
        assert answer["subjects"][0]["identity"] == f"image:{image.config}", name
        for part in ("code", "box", "cuda"):
            assert answer["result"][part] == first["result"][part], (name, part)
        assert answer["criteria"] == first["criteria"], name


@pytest.mark.artifact
def test_a_real_wheel_is_judged_alike_in_every_form(
    run: Run, registry: str, tmp_path: Path, real_wheel: Callable[..., Path]
) -> None:
    wheel = real_wheel("vllm==0.33.0")
    folder = ImageFolder(tmp_path / "image")
    layers = [
        folder.layer(base_entries(), "ADD rootfs"),
        folder.layer(images.wheel_at(wheel, SITE), "RUN pip install vllm"),
        folder.layer(script()),
    ]
    image = folder.image(layers, name="vllm/vllm-openai:v0.33.0", **CONFIG_OF_IMAGE)
    push_image(registry, folder, image, "v0.33.0")
    done = run("wheel", str(wheel), "--json")
    own = json.loads(done.stdout)["result"]
    for place in (
        f"{registry}/vllm/vllm-openai:v0.33.0",
        str(folder.folder),
        str(folder.write_saved(image, tmp_path / "saved.tar")),
    ):
        answer = looked(run, place)
        assert answer["result"]["code"] == own, place
        assert answer["verdict"] == "pass", place
        assert answer["result"]["image"]["vllms"][0]["version"] == "0.33.0"


def test_an_index_and_a_tag_that_has_gone_on(run: Run, registry: str, tmp_path: Path) -> None:
    folder = ImageFolder(tmp_path / "image")
    made = {
        architecture: small_image(folder, FILES, architecture=architecture)
        for architecture in ("amd64", "arm64")
    }
    for image in made.values():
        push_image(registry, folder, image, image.manifest)
    for tag in ("v0.33.0", "v0.34.0"):
        push(registry, folder, [], tag, folder.index_of(made))
    answer = looked(run, f"{registry}/vllm/vllm-openai:v0.33.0")
    assert answer["result"]["image"]["architecture"] == "arm64"
    assert answer["result"]["newer"] == ["v0.34.0"]
    other = looked(run, f"{registry}/vllm/vllm-openai:v0.33.0", "--platform", "x86_64")
    assert other["result"]["image"]["architecture"] == "amd64"


def test_what_the_registry_does_not_have(run: Run, registry: str) -> None:
    done = run("image", f"{registry}/vllm/vllm-openai:v9")
    assert done.returncode == 4
    assert b"has no" in done.stderr


@pytest.mark.parametrize(
    "told", [{"Image": "config"}, {"Image": "config", "ImageDigest": "manifest"}]
)
def test_a_container_by_its_saved_inspection(
    run: Run, registry: str, tmp_path: Path, told: dict[str, str]
) -> None:
    folder = ImageFolder(tmp_path / "image")
    image = small_image(folder, FILES, name="vllm/vllm-openai:v0.33.0")
    push_image(registry, folder, image, "v0.33.0")
    known = {"config": image.config, "manifest": image.manifest}
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"architectures": ["Qwen3ForCausalLM"]}')
    config = {
        "Image": f"{registry}/vllm/vllm-openai:v0.33.0",
        "Cmd": ["vllm", "serve", str(model)],
    }
    saved = tmp_path / "inspect.json"
    row = {"Name": "/x", "Config": config, **{key: known[what] for key, what in told.items()}}
    saved.write_text(json.dumps([row]))
    answer = json.loads(run("prove", str(saved), "--json").stdout)
    identities = [subject["identity"] for subject in answer["subjects"]]
    assert f"image:{image.config}" in identities, answer["summary"]
