"""A small image in every form that there is, for the suites that compare them."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sparkproof.adapters.image import ImageArtifact
from sparkproof.adapters.image_archive import StreamedImage, open_saved
from sparkproof.adapters.open_image import open_image
from sparkproof.core.refs import RefKind, parse_ref
from sparkproof.core.target import Target
from sparkproof.testing import images
from sparkproof.testing.images import Image, ImageFolder
from sparkproof.testing.registry import RegistryServer

SITE = "usr/local/lib/python3.12/dist-packages"
BASE = {
    "usr/bin/python3.12": b"\x7fELF interpreter",
    "etc/os-release": b'PRETTY_NAME="Ubuntu 24.04.3 LTS"\n',
    "usr/local/cuda-13.0/bin/nvcc": b"\x7fELF compiler",
    "usr/bin/ninja": b"\x7fELF builder",
    "var/lib/dpkg/status": b"Package: base\nStatus: install ok installed\nVersion: 1\n",
}
LINKS = {"usr/bin/python3": "python3.12", "usr/local/cuda": "cuda-13.0"}
CONFIG: dict[str, Any] = {
    "Env": ["PATH=/usr/local/cuda/bin:/usr/local/bin:/usr/bin", "CUDA_VERSION=13.0.2"],
    "Entrypoint": ["vllm", "serve"],
}


def metadata(name: str, version: str) -> dict[str, bytes]:
    """A dist-info with METADATA alone."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n"
    return {f"{folder}/METADATA": text.encode()}


def base_entries() -> list[images.Entry]:
    """An operating system, a toolkit, an interpreter."""
    links = [images.link(path, target) for path, target in LINKS.items()]
    return [*images.files(BASE), *links]


def script(python: str = "/usr/bin/python3") -> list[images.Entry]:
    """The ``vllm`` command."""
    text = f"#!{python}\nimport sys\n".encode()
    return images.files({"usr/local/bin/vllm": text})


def small_image(folder: ImageFolder, files: Mapping[str, bytes], **more: Any) -> Image:
    """An operating system below, packages above, the command on top."""
    layers = [
        folder.layer(base_entries(), "ADD rootfs"),
        folder.layer(images.files(files, f"{SITE}/"), "RUN pip install vllm", compression="zstd"),
        folder.layer(script(), "COPY vllm", compression="tar"),
    ]
    return folder.image(layers, **{**CONFIG, **more})


class FakeEngine:
    """An engine with one image and one container."""

    def __init__(self, folder: ImageFolder, image: Image) -> None:
        self._data = images.tar_bytes(folder.saved_entries(image, "vllm:test"))

    def save(self, image: str) -> Iterator[bytes]:
        assert image in ("vllm:test", "sha256:abc")
        stream = io.BytesIO(self._data)
        return iter(lambda: stream.read(5000), b"")

    def image_of(self, container: str) -> str:
        assert container == "qwen"
        return "sha256:abc"


Opener = Callable[[ImageFolder, Image, Path], ImageArtifact]


def _layout(folder: ImageFolder, _image: Image, _scratch: Path) -> ImageArtifact:
    return ImageArtifact(open_saved(folder.folder, architecture="arm64"))


def _oci_archive(folder: ImageFolder, _image: Image, scratch: Path) -> ImageArtifact:
    path = folder.write_oci_archive(scratch / "oci.tar")
    return ImageArtifact(open_saved(path, architecture="arm64"))


def _saved(folder: ImageFolder, image: Image, scratch: Path) -> ImageArtifact:
    path = folder.write_saved(image, scratch / "saved.tar")
    return ImageArtifact(open_saved(path, architecture="arm64"))


def _saved_packed(folder: ImageFolder, image: Image, scratch: Path) -> ImageArtifact:
    path = scratch / "saved.tar.gz"
    path.write_bytes(gzip.compress(images.tar_bytes(folder.saved_entries(image, "vllm:test"))))
    opened = open_saved(path, architecture="arm64")
    assert isinstance(opened, StreamedImage)
    return ImageArtifact(opened)


def _engine(folder: ImageFolder, image: Image, _scratch: Path) -> ImageArtifact:
    engine = FakeEngine(folder, image)
    return open_image(parse_ref("image:engine:vllm:test"), Target(), engine=engine)


def _container(folder: ImageFolder, image: Image, _scratch: Path) -> ImageArtifact:
    engine = FakeEngine(folder, image)
    return open_image(parse_ref("container:qwen"), Target(), engine=engine)


OFFLINE: dict[str, Opener] = {
    "layout": _layout,
    "oci archive": _oci_archive,
    "saved archive": _saved,
    "packed archive": _saved_packed,
    "engine": _engine,
    "container": _container,
}


def from_registry(server: RegistryServer, reference: str = "vllm/vllm-openai:v1") -> ImageArtifact:
    """Through the whole of the registry's protocol."""
    return open_image(parse_ref(server.name(reference), RefKind.IMAGE), Target())
