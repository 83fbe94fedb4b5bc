"""The real pip against an index on the loopback address: resolve, fetch, fall back, fail."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.errors import UnreachableError
from sparkproof.core.target import Target
from sparkproof.testing.artifacts import wheel_filename, wheel_files, write_wheel, zip_bytes
from sparkproof.testing.file_server import Faults, FileServer

pytestmark = [pytest.mark.e2e, pytest.mark.allow_hosts(["127.0.0.1"])]

ARM = "cp38-abi3-manylinux_2_24_aarch64"
X86 = "cp38-abi3-manylinux1_x86_64"
FIRST = wheel_filename("vllm", "0.21.0", tag=ARM)
SECOND = wheel_filename("vllm", "0.21.0", build="1", tag=ARM)
OLD = wheel_filename("vllm", "0.5.0", tag=X86)
WHEELS = {
    FIRST: zip_bytes(wheel_files("vllm", "0.21.0", {"vllm/a.py": b"first"}, tag=ARM)),
    SECOND: zip_bytes(wheel_files("vllm", "0.21.0", {"vllm/a.py": b"second"}, tag=ARM)),
    OLD: zip_bytes(wheel_files("vllm", "0.5.0", {"vllm/a.py": b"old"}, tag=X86)),
}


def sha256(filename: str) -> str:
    return hashlib.sha256(WHEELS[filename]).hexdigest()


def index_page() -> bytes:
    files = [{"filename": f, "url": f"/files/{f}", "hashes": {"sha256": sha256(f)}} for f in WHEELS]
    return json.dumps({"meta": {"api-version": "1.0"}, "name": "vllm", "files": files}).encode()


@pytest.fixture
def index(clean_pip: pytest.MonkeyPatch) -> Iterator[FileServer]:
    files = {f"/files/{name}": data for name, data in WHEELS.items()}
    files["/simple/vllm/"] = index_page()
    types = {"/simple/vllm/": "application/vnd.pypi.simple.v1+json"}
    with FileServer(files, types) as server:
        clean_pip.setenv("PIP_INDEX_URL", server.url("simple", "me:hunter2"))
        clean_pip.setattr("time.sleep", lambda _: None)
        yield server


def test_what_pip_picks_and_says(index: FileServer) -> None:
    subject, artifact = open_artifact("vllm==0.21.0")
    assert subject.title == "vllm 0.21.0 (build 1)"
    assert subject.identity == f"sha256:{sha256(SECOND)}"
    assert subject.url == index.url(f"files/{SECOND}")
    (note,) = subject.notes
    assert SECOND in note
    assert FIRST in note
    assert artifact.read("vllm/a.py") == b"second"
    assert artifact.location is None, "read by range"
    artifact.close()


def test_the_other_build_by_its_name(index: FileServer) -> None:
    subject, artifact = open_artifact(FIRST)
    assert (subject.sha256, subject.verified) == (sha256(FIRST), True)
    assert artifact.read("vllm/a.py") == b"first"
    artifact.close()


def test_second_run_and_offline_run_use_the_cache(index: FileServer) -> None:
    for offline in (False, False, True):
        subject, artifact = open_artifact("vllm", whole=True, offline=offline)
        assert subject.sha256 == sha256(SECOND)
        artifact.close()
    ours = [
        wanted
        for path, wanted, login in index.requests
        if path == f"/files/{SECOND}" and not login  # pip sends its password, we were not asked
    ]
    assert ours == ["bytes=0-0", ""]
    with pytest.raises(UnreachableError, match="never looked up for x86_64"):
        open_artifact("vllm", Target(platform="x86_64"), offline=True)


def test_offline_names_the_file_that_is_missing(index: FileServer) -> None:
    open_artifact("vllm")[1].close()
    with pytest.raises(UnreachableError, match=f"{SECOND} is not in the cache"):
        open_artifact("vllm", offline=True)


def test_an_index_behind_a_password(index: FileServer) -> None:
    index.faults = Faults(login=("me", "hunter2"))
    subject, artifact = open_artifact("vllm", whole=True)
    assert artifact.read("vllm/a.py") == b"second"
    artifact.close()
    assert "hunter2" not in repr(subject)
    kept = [p for p in ArtifactCache().folder.rglob("*") if p.is_file()]
    assert kept
    assert not any(b"hunter2" in p.read_bytes() or "hunter2" in str(p) for p in kept)


def test_where_our_fetch_is_barred_pip_fetches(
    index: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.faults = Faults(login=("me", "hunter2"))
    monkeypatch.setattr("sparkproof.adapters.credentials.Credentials.for_url", lambda *_: None)
    subject, artifact = open_artifact("vllm", whole=True)
    assert (subject.sha256, subject.verified) == (sha256(SECOND), True)
    artifact.close()


def test_a_wrong_password(index: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    index.faults = Faults(login=("me", "other"))
    with pytest.raises(UnreachableError, match="refuses us") as caught:
        open_artifact("vllm")
    assert "hunter2" not in caught.value.message + caught.value.hint


def test_a_server_without_ranges(index: FileServer) -> None:
    index.faults = Faults(ranges=False)
    subject, artifact = open_artifact("vllm")
    assert artifact.location is not None
    assert subject.verified
    artifact.close()


@pytest.mark.parametrize(
    ("requirement", "message", "hint"),
    [
        ("vllm==9.9", "no version of vllm for aarch64", "0.21.0"),
        ("vllm==0.5.0", "no wheel of vllm==0.5.0 for aarch64", "x86_64"),
        ("absent-thing", "no wheel of absent-thing", "spelling"),
    ],
)
def test_what_does_not_exist(index: FileServer, requirement: str, message: str, hint: str) -> None:
    with pytest.raises(UnreachableError) as caught:
        open_artifact(requirement)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_an_index_that_is_down(clean_pip: pytest.MonkeyPatch) -> None:
    clean_pip.setenv("PIP_INDEX_URL", "http://me:hunter2@127.0.0.1:9/simple")
    with pytest.raises(
        UnreachableError, match=r"index http://127\.0\.0\.1:9/simple can't"
    ) as caught:
        open_artifact("vllm")
    assert "hunter2" not in caught.value.message + caught.value.hint


def test_constraints_are_honoured(
    index: FileServer, clean_pip: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("vllm==0.20.0\n")
    clean_pip.setenv("PIP_CONSTRAINT", str(constraints))
    with pytest.raises(UnreachableError, match=r"constraint vllm==0\.20\.0"):
        open_artifact("vllm==0.21.0")


def test_a_folder_of_wheels_is_used_in_place(clean_pip: pytest.MonkeyPatch, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    path = write_wheel(links, version="0.33.0")
    clean_pip.setenv("PIP_NO_INDEX", "1")
    clean_pip.setenv("PIP_FIND_LINKS", str(links))
    subject, artifact = open_artifact("vllm")
    assert artifact.location is not None
    assert Path(artifact.location.path) == path.resolve()
    assert subject.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    artifact.close()
    assert not list((tmp_path / "cache").rglob("*.whl"))
    with pytest.raises(UnreachableError, match="no wheel of absent"):
        open_artifact("absent")


def test_settings_that_would_get_in_the_way(
    index: FileServer, clean_pip: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_USER", "PIP_REQUIRE_VIRTUALENV", "PIP_REQUIRE_HASHES", "PIP_NO_BINARY"):
        clean_pip.setenv(name, "vllm" if name == "PIP_NO_BINARY" else "1")
    open_artifact("vllm")[1].close()
