"""Fetching from a server on the loopback address that lies, drops, refuses and stalls."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.http import HttpClient
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.adapters.patience import DroppedError, FetchError
from sparkproof.adapters.pip_errors import PipResult
from sparkproof.adapters.progress import NoProgress
from sparkproof.adapters.remote import BLOCK_BYTES, MAX_AHEAD_BYTES, RangeSource
from sparkproof.adapters.spool import Spooler
from sparkproof.core.errors import UnreachableError
from sparkproof.testing.artifacts import sdist_bytes, wheel_files, zip_bytes
from sparkproof.testing.file_server import Faults, FileServer

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

NAME = "vllm-0.33.0-cp38-abi3-manylinux_2_28_aarch64.whl"
NOISE = hashlib.shake_256(b"noise").digest(3 << 20)
WHEEL = zip_bytes(wheel_files("vllm", "0.33.0", {"vllm/_C.so": NOISE, "vllm/a.py": b"a = 1\n"}))
SHA = hashlib.sha256(WHEEL).hexdigest()
DROP_AT = 1 << 20


@pytest.fixture(autouse=True)
def _world(clean_pip: pytest.MonkeyPatch) -> None:
    clean_pip.setattr("time.sleep", lambda _: None)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer({f"/{NAME}": WHEEL}) as running:
        yield running


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(pause=lambda _: None)
    yield client
    client.close()


@pytest.fixture
def cache(tmp_path: Path) -> ArtifactCache:
    return ArtifactCache(tmp_path / "cache")


Spool = Callable[..., Path]


@pytest.fixture
def spool(server: FileServer, client: HttpClient, cache: ArtifactCache) -> Spool:
    def run(sha256: str = SHA, **options: Any) -> Path:
        spooler = Spooler(client, cache, NoProgress(), **options)
        url = server.url(NAME)
        return spooler.spool(client.probe(url), url, NAME, sha256)[0]

    return run


def leftovers(cache: ArtifactCache) -> list[str]:
    return [p.name for p in cache.folder.rglob("*") if p.is_file() and p.suffix != ".lock"]


def test_whole_and_only_once(spool: Spool, server: FileServer, cache: ArtifactCache) -> None:
    path = spool()
    assert path.read_bytes() == WHEEL
    assert path == cache.find(SHA, NAME)
    asked = len(server.requests)
    assert spool() == path
    assert len(server.requests) == asked + 1, "only probed again"
    assert leftovers(cache) == [NAME]


@pytest.mark.parametrize("ranges", [True, False])
def test_dropped_lines_are_taken_up_again(spool: Spool, server: FileServer, ranges: bool) -> None:
    server.faults = Faults(drop_after=DROP_AT, drops=2, ranges=ranges)
    assert spool().read_bytes() == WHEEL
    resumed = [wanted for _, wanted, _ in server.requests if wanted not in ("", "bytes=0-0")]
    assert bool(resumed) or not ranges


def test_a_line_that_stalls_is_taken_up_again(server: FileServer, cache: ArtifactCache) -> None:
    server.faults = Faults(drop_after=DROP_AT, drops=1, stall_s=0.5)
    client = HttpClient(pause=lambda _: None, stall_s=0.1)
    url = server.url(NAME)
    spooler = Spooler(client, cache, NoProgress())
    path, _ = spooler.spool(client.probe(url), url, NAME, SHA)
    client.close()
    assert path.read_bytes() == WHEEL
    assert f"bytes={DROP_AT}-" in [wanted for _, wanted, _ in server.requests]


def test_two_at_once_fetch_once(spool: Spool, server: FileServer) -> None:
    with ThreadPoolExecutor(2) as pool:
        paths = {future.result() for future in [pool.submit(spool) for _ in range(2)]}
    assert len(paths) == 1
    assert [wanted for _, wanted, _ in server.requests if not wanted] == [""]


def test_a_line_that_always_breaks_is_given_up(
    spool: Spool, server: FileServer, cache: ArtifactCache
) -> None:
    server.faults = Faults(drop_after=10, drops=1000)
    with pytest.raises(UnreachableError) as caught:
        spool()
    assert "127.0.0.1" in caught.value.message or "came" in caught.value.message
    assert len(server.requests) < 20
    assert leftovers(cache) == [NAME + ".part"], "the next run goes on there"
    server.faults = Faults()
    assert spool().read_bytes() == WHEEL


def test_a_server_in_trouble_is_asked_again(spool: Spool, server: FileServer) -> None:
    server.faults = Faults(status=503, status_times=2)
    assert spool().read_bytes() == WHEEL
    server.faults = Faults(status=503, status_times=100)
    with pytest.raises(DroppedError, match="in trouble"):
        spool()


def test_what_the_index_did_not_promise_is_not_kept(
    spool: Spool, server: FileServer, cache: ArtifactCache
) -> None:
    with pytest.raises(UnreachableError, match="not what the index promises") as caught:
        spool(sha256="0" * 64)
    assert caught.value.hint
    assert leftovers(cache) == []


def test_a_stale_partial_file_is_thrown_away(
    spool: Spool, server: FileServer, cache: ArtifactCache
) -> None:
    part = cache.partial(server.url(NAME), NAME)
    part.parent.mkdir(parents=True)
    for stale in (b"x" * 1000, b"x" * (len(WHEEL) + 5)):
        part.write_bytes(stale)
        path = spool()
        assert path.read_bytes() == WHEEL
        path.unlink()


@pytest.mark.parametrize("announce", [100, 5 << 20, -2])
def test_wrong_lengths(
    spool: Spool, server: FileServer, cache: ArtifactCache, announce: int
) -> None:
    server.faults = Faults(ranges=False, announce=announce)
    if announce == -2:
        assert spool().read_bytes() == WHEEL
        return
    with pytest.raises(UnreachableError) as caught:
        spool()
    assert caught.value.hint
    assert leftovers(cache) == []


def test_bounds(spool: Spool, server: FileServer, cache: ArtifactCache) -> None:
    with pytest.raises(UnreachableError, match="larger than") as caught:
        spool(limit_bytes=1 << 20)
    assert caught.value.hint
    server.faults = Faults(ranges=False, announce=-2)
    with pytest.raises(UnreachableError, match="larger than"):
        spool(limit_bytes=1 << 20)
    assert leftovers(cache) == []


def test_what_nobody_says_the_size_of_is_bounded(
    spool: Spool, server: FileServer, cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults = Faults(ranges=False, announce=-2)
    monkeypatch.setattr("sparkproof.adapters.spool.MAX_UNANNOUNCED_BYTES", 1 << 20)
    with pytest.raises(UnreachableError, match="does not say how large") as caught:
        spool()
    assert "name the file" in caught.value.hint
    assert leftovers(cache) == []


def test_room_is_looked_for_while_an_unannounced_file_grows(
    spool: Spool, server: FileServer, cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults = Faults(ranges=False, announce=-2)
    monkeypatch.setattr("sparkproof.adapters.spool._ROOM_STEP_BYTES", 1 << 20)
    frees = iter([1 << 30, 1 << 30, 1 << 10])
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=next(frees)))
    with pytest.raises(UnreachableError, match="do not fit"):
        spool()
    assert leftovers(cache) == []


@pytest.mark.parametrize(("told", "size"), [("5", 5), ("9" * 30, -1), ("five", -1)])
def test_a_question_for_the_head_tells_the_size(told: str, size: int) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "HEAD":
            return httpx2.Response(200, headers={"Content-Length": told})
        return httpx2.Response(200, content=iter([b"12345"]))

    client = HttpClient(transport=httpx2.MockTransport(answer))
    assert client.probe("http://127.0.0.1:9/a.whl").size_bytes == size
    client.close()


def test_a_disk_that_is_known_to_be_too_small(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, server: FileServer
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UnreachableError, match="do not fit") as caught:
        spool()
    assert "SPARKPROOF_CACHE" in caught.value.hint
    assert len(server.requests) == 1, "nothing was fetched"


def test_a_disk_that_fills_up_while_spooling(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, cache: ArtifactCache
) -> None:
    real = Path.open
    written = 0

    def fills(self: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        nonlocal written
        if mode == "ab":
            written += 1
            if written > 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", fills)
    with pytest.raises(UnreachableError, match="is full") as caught:
        spool()
    assert "SPARKPROOF_CACHE" in caught.value.hint
    assert leftovers(cache) == []


def test_a_cache_that_can_not_be_written(spool: Spool, cache: ArtifactCache) -> None:
    cache.folder.write_text("a file where the folder should be")
    with pytest.raises(UnreachableError, match="cache"):
        spool()


@pytest.mark.parametrize(
    "faults",
    [
        Faults(encoding="gzip"),
        Faults(shift=7),
        Faults(total=12345),
        Faults(change_etag=True),
    ],
)
def test_ranges_that_lie(client: HttpClient, server: FileServer, faults: Faults) -> None:
    remote = client.probe(server.url(NAME))
    server.faults = faults
    with pytest.raises(FetchError):
        client.read_range(remote, 100, 50)


def test_a_dropped_range_is_asked_again(client: HttpClient, server: FileServer) -> None:
    remote = client.probe(server.url(NAME))
    server.faults = Faults(drop_after=10, drops=2)
    assert client.read_range(remote, 100, 50) == WHEEL[100:150]


def test_ranges_that_are_only_pretended(client: HttpClient, server: FileServer) -> None:
    server.faults = Faults(shift=5)
    assert not client.probe(server.url(NAME)).ranges


def test_no_such_file(client: HttpClient, server: FileServer) -> None:
    with pytest.raises(FetchError, match="no such file"):
        client.probe(server.url("absent.whl"))


def test_nobody_listens(client: HttpClient, server: FileServer) -> None:
    with pytest.raises(FetchError, match="can't be reached") as caught:
        client.probe("http://me:hunter2@127.0.0.1:9/a.whl")
    assert caught.value.barred
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(("name", "value"), [("SSL_CERT_FILE", "."), ("HTTPS_PROXY", "odd://x")])
def test_settings_that_spoil_http(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    if name == "SSL_CERT_FILE":
        value = str(tmp_path / "empty.pem")
        Path(value).touch()
    monkeypatch.setenv(name, value)
    with pytest.raises(FetchError, match="can't be set up") as caught:
        HttpClient()
    assert caught.value.barred


def test_a_metadata_look_reads_little_and_a_walk_reads_ahead(
    client: HttpClient, server: FileServer
) -> None:
    source = RangeSource(client, client.probe(server.url(NAME)))
    assert source.read_at(len(WHEEL) - 22, 100) == WHEEL[-22:]
    assert source.read_at(10, 30) == WHEEL[10:40]
    assert source.fetched_bytes <= 2 * BLOCK_BYTES
    asked = len(server.requests)
    walked = b"".join(source.read_at(at, 50_000) for at in range(0, len(WHEEL), 50_000))
    assert walked == WHEEL
    assert len(server.requests) - asked < 10
    assert source.read_at(5, 2 * MAX_AHEAD_BYTES) == WHEEL[5:]
    assert source.read_at(len(WHEEL) + 5, 10) == b""


def test_an_address_is_opened_by_range_if_its_hash_is_known(
    server: FileServer, cache: ArtifactCache
) -> None:
    subject, artifact = open_artifact(f"{server.url(NAME)}#sha256={SHA}", cache=cache)
    assert artifact.location is None
    assert (subject.sha256, subject.verified, subject.size_bytes) == (SHA, False, len(WHEEL))
    assert artifact.read("vllm/a.py") == b"a = 1\n"
    local = artifact.localize()
    assert local.location is not None
    assert local.read("vllm/_C.so") == NOISE
    again, second = open_artifact(f"{server.url(NAME)}#sha256={SHA}", cache=cache)
    assert (again.verified, again.same_as(subject)) == (True, True)
    for opened in (artifact, local, second):
        opened.close()


def test_an_address_without_a_hash_is_fetched_once_and_then_recognised(
    server: FileServer, cache: ArtifactCache
) -> None:
    for _ in range(2):
        subject, artifact = open_artifact(server.url(NAME), cache=cache)
        artifact.close()
        assert (subject.sha256, subject.verified) == (SHA, True)
    whole = [wanted for _, wanted, _ in server.requests if wanted != "bytes=0-0"]
    assert len(whole) == 1
    subject, artifact = open_artifact(server.url(NAME), cache=cache, offline=True)
    artifact.close()
    assert subject.sha256 == SHA
    server.files[f"/{NAME}"] = changed = zip_bytes(wheel_files("vllm", "0.33.0", {"b": b"2"}))
    subject, artifact = open_artifact(server.url(NAME), cache=cache)
    artifact.close()
    assert subject.sha256 == hashlib.sha256(changed).hexdigest()


def test_a_source_distribution_is_fetched_whole(server: FileServer, cache: ArtifactCache) -> None:
    server.files["/vllm-1.tar.gz"] = sdist_bytes(
        {"PKG-INFO": b"Name: vllm\nVersion: 1\n", "vllm/a.py": b"1"}, "vllm-1"
    )
    subject, artifact = open_artifact(server.url("vllm-1.tar.gz"), cache=cache)
    assert (subject.title, subject.verified) == ("vllm 1", True)
    assert artifact.read("vllm/a.py") == b"1"
    artifact.close()


def test_credentials_in_an_address_are_used_and_never_told(
    server: FileServer, cache: ArtifactCache
) -> None:
    server.faults = Faults(login=("me", "hunter2"))
    address = server.url(NAME, "me:hunter2") + f"?token=hunter2#sha256={SHA}"
    subject, artifact = open_artifact(address, cache=cache, whole=True)
    artifact.close()
    assert "hunter2" not in repr(subject)
    for path in cache.folder.rglob("*"):
        assert "hunter2" not in str(path)
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


def test_refusal_says_where_credentials_belong(server: FileServer, cache: ArtifactCache) -> None:
    server.faults = Faults(login=("me", "hunter2"))
    with pytest.raises(FetchError, match=r"refuses us \(401\)") as caught:
        open_artifact(server.url(NAME), cache=cache, run=lambda *_: PipResult(0))
    assert "netrc" in caught.value.hint


def test_offline_says_what_is_missing(cache: ArtifactCache) -> None:
    for ref in ("vllm==0.33.0", "http://127.0.0.1:9/a.whl", NAME):
        with pytest.raises(UnreachableError, match="never looked up") as caught:
            open_artifact(ref, cache=cache, offline=True)
        assert "--offline" in caught.value.hint
