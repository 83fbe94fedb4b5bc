"""One suite for every implementation of the artifact port, the fake included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import pytest_socket
from tests.contract.images import OFFLINE, small_image

from sparkproof.adapters.http import HttpClient
from sparkproof.adapters.open_artifact import reopen
from sparkproof.adapters.remote import RangeSource
from sparkproof.adapters.sdist import open_sdist
from sparkproof.adapters.tree import TreeArtifact
from sparkproof.adapters.zip_artifact import ZipArtifact, open_wheel
from sparkproof.core.errors import FormatError
from sparkproof.core.ports import Artifact
from sparkproof.testing.artifacts import (
    BytesSource,
    MemoryArtifact,
    sdist_bytes,
    write_tree,
    zip_bytes,
)
from sparkproof.testing.file_server import FileServer
from sparkproof.testing.images import ImageFolder

FILES = {
    "vllm/_C.so": bytes(range(256)) * 5000,
    "vllm/__init__.py": b"x = 1\n" * 100,
    "vllm/empty.py": b"",
    "vllm/ünïcode.txt": "grün".encode(),
    "top.txt": b"t",
}
Opened = Callable[[Path], Artifact]


def _wheel(folder: Path) -> Artifact:
    path = folder / "x-1-py3-none-any.whl"
    path.write_bytes(zip_bytes(FILES, stored=frozenset({"vllm/__init__.py"})))
    return open_wheel(path)


def _sdist(folder: Path) -> Artifact:
    path = folder / "x-1.tar.gz"
    path.write_bytes(sdist_bytes(FILES, "x-1"))
    return open_sdist(path)


def _tree(folder: Path) -> Artifact:
    return TreeArtifact(write_tree(folder / "site", FILES))


def _memory(_: Path) -> Artifact:
    return MemoryArtifact(FILES)


def _in_memory_wheel(_: Path) -> Artifact:
    return ZipArtifact(BytesSource(zip_bytes(FILES)), "m.whl")


KINDS = {"wheel": _wheel, "sdist": _sdist, "tree": _tree, "fake": _memory, "zip": _in_memory_wheel}


@pytest.fixture(params=[*KINDS, "remote", *(f"image {kind}" for kind in OFFLINE)])
def artifact(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Artifact]:
    if request.param.startswith("image "):
        folder = ImageFolder(tmp_path / "image")
        kind = request.param.removeprefix("image ")
        from_layers = OFFLINE[kind](folder, small_image(folder, FILES), tmp_path)
        yield from_layers
        from_layers.close()
        return
    if request.param != "remote":
        opened = KINDS[request.param](tmp_path)
        yield opened
        opened.close()
        return
    pytest_socket.enable_socket()
    pytest_socket.socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    with FileServer({"/x.whl": zip_bytes(FILES)}) as server:
        client = HttpClient()
        source = RangeSource(client, client.probe(server.url("x.whl")))
        opened = ZipArtifact(source, "x.whl")
        yield opened
        opened.close()
        client.close()


def test_members_are_all_files_in_order_with_their_sizes(artifact: Artifact) -> None:
    assert [(m.path, m.size_bytes) for m in artifact.members()] == [
        (path, len(FILES[path])) for path in sorted(FILES)
    ]
    assert artifact.unknowns() == ()


def test_read_gives_what_was_put_in(artifact: Artifact) -> None:
    assert {m.path: artifact.read(m.path) for m in artifact.members()} == FILES


@pytest.mark.parametrize("chunk_bytes", [1000, 65536, 1 << 20])
def test_stream_is_read_in_pieces(artifact: Artifact, chunk_bytes: int) -> None:
    pieces = list(artifact.stream("vllm/_C.so", chunk_bytes=chunk_bytes))
    assert max(map(len, pieces)) <= chunk_bytes
    assert b"".join(pieces) == FILES["vllm/_C.so"]
    assert list(artifact.stream("vllm/empty.py")) == []


@pytest.mark.parametrize("path", ["vllm/_C.so", "vllm/__init__.py"])
@pytest.mark.parametrize("at", [(0, 4), (300, 500), (590, 100), (10**9, 5), (0, 0)])
def test_read_at_is_a_slice(artifact: Artifact, path: str, at: tuple[int, int]) -> None:
    offset, length = at
    assert artifact.read_at(path, offset, length) == FILES[path][offset : offset + length]


def test_an_absent_member_is_a_key_error_at_once(artifact: Artifact) -> None:
    for ask in (artifact.read, artifact.stream, lambda p: artifact.read_at(p, 0, 1)):
        with pytest.raises(KeyError):
            ask("vllm/absent.py")


def test_reading_is_bounded(artifact: Artifact) -> None:
    with pytest.raises(FormatError, match=r"_C\.so"):
        artifact.read("vllm/_C.so", limit_bytes=1000)


def test_a_local_artifact_can_be_reopened(artifact: Artifact) -> None:
    location = artifact.location
    if location is None:
        return
    again = reopen(location)
    assert again.members() == artifact.members()
    assert again.name == artifact.name
    again.close()


def test_the_port_is_satisfied(artifact: Artifact) -> None:
    assert isinstance(artifact, Artifact)
    assert "/" not in artifact.name
