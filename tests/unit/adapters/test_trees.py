"""Folders and sdists: what is in them, who they are, and what never leaves them."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from sparkproof.adapters.identity import git_commit
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.adapters.sdist import SdistArtifact
from sparkproof.adapters.tree import TreeArtifact
from sparkproof.core.errors import ExitCode, FormatError, UnreachableError, UsageError
from sparkproof.testing.artifacts import (
    BytesSource,
    sdist_bytes,
    wheel_files,
    write_tree,
    write_wheel,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_links_never_lead_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key.txt").write_text("hunter2")
    root = write_tree(tmp_path / "site", {"vllm/a.py": b"1"})
    (root / "inside.py").symlink_to("vllm/a.py")
    (root / "outside.txt").symlink_to(tmp_path / "secret/key.txt")
    (root / "outside").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    tree = TreeArtifact(root)
    assert [m.path for m in tree.members()] == ["inside.py", "vllm/a.py"]
    assert tree.read("inside.py") == b"1"
    assert {u.where for u in tree.unknowns()} == {
        f"site/{name}" for name in ("outside.txt", "outside", "up", "loop", "dangling", "pipe")
    }


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "site", {"a.py": b"1"})
    (tmp_path / "b").write_text("2")
    tree = TreeArtifact(root)
    (root / "a.py").unlink()
    (root / "a.py").symlink_to(tmp_path / "b")
    with pytest.raises(UnreachableError):
        tree.read("a.py")


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "site", {"a.py": b"1"})
    tree = TreeArtifact(root)
    (root / "a.py").write_text("22")
    with pytest.raises(FormatError, match="changed since"):
        tree.read("a.py")


def test_version_control_and_bytecode_are_left_out(tmp_path: Path) -> None:
    files = {".git/config": b"", "vllm/__pycache__/a.pyc": b"", "vllm/a.py": b""}
    assert [m.path for m in TreeArtifact(write_tree(tmp_path, files)).members()] == ["vllm/a.py"]


def test_an_editable_install_is_told(tmp_path: Path) -> None:
    write_tree(tmp_path, {"__editable__.vllm-0.33.0.pth": b"/src/vllm\n", "ok.pth": b""})
    (unknown,) = TreeArtifact(tmp_path).unknowns()
    assert "editable install" in unknown.why


def test_bounds_on_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"a/b/c.py": b"", "d.py": b""})
    monkeypatch.setattr("sparkproof.adapters.tree.MAX_DEPTH", 1)
    (unknown,) = TreeArtifact(tmp_path).unknowns()
    assert "too deep" in unknown.why
    monkeypatch.setattr("sparkproof.adapters.tree.MAX_FILES", 0)
    with pytest.raises(FormatError, match="more than"):
        TreeArtifact(tmp_path)


def test_an_installation_is_known_by_its_record(tmp_path: Path) -> None:
    one = write_tree(tmp_path / "one", wheel_files("vllm", "0.33.0", {"vllm/a.py": b"1"}))
    other = write_tree(tmp_path / "other", wheel_files("vllm", "0.33.0", {"vllm/a.py": b"1"}))
    write_tree(other, {"torch-2.0.dist-info/METADATA": b"Name: torch\nVersion: 2.0\n"})
    third = write_tree(tmp_path / "third", wheel_files("vllm", "0.33.0", {"vllm/a.py": b"2"}))
    subjects = [open_artifact(f"tree:{folder}")[0] for folder in (one, other, third)]
    assert [s.title for s in subjects] == ["vllm 0.33.0"] * 3
    assert subjects[0].identity.startswith("record:")
    assert subjects[0].same_as(subjects[1])
    assert not subjects[0].same_as(subjects[2])


def test_a_virtual_environment_stands_for_its_packages(tmp_path: Path) -> None:
    site = tmp_path / "venv/lib/python3.12/site-packages"
    write_tree(site, wheel_files("vllm", "0.33.0", {"vllm/a.py": b"1"}))
    write_tree(tmp_path / "venv", {"pyvenv.cfg": b"home = /usr/bin\n"})
    subject, artifact = open_artifact(f"tree:{tmp_path / 'venv'}")
    assert subject.version == "0.33.0"
    assert artifact.read("vllm/a.py") == b"1"


def test_a_checkout_is_known_by_its_commit(tmp_path: Path) -> None:
    root = write_tree(
        tmp_path / "vllm",
        {".git/HEAD": b"ref: refs/heads/main\n", ".git/refs/heads/main": COMMIT.encode()},
    )
    assert git_commit(root) == COMMIT
    write_tree(root, {"vllm/a.py": b"1"})
    first, _ = open_artifact(f"tree:{root}")
    assert first.identity.startswith(f"git:{COMMIT}+")
    write_tree(root, {"vllm/b.py": b"1"})
    assert not first.same_as(open_artifact(f"tree:{root}")[0])


@pytest.mark.parametrize(
    ("files", "commit"),
    [
        ({".git/HEAD": COMMIT.encode() + b"\n"}, COMMIT),
        (
            {".git/HEAD": b"ref: refs/heads/x", ".git/packed-refs": b"# p\n%s refs/heads/x\n"
             % COMMIT.encode()},
            COMMIT,
        ),
        ({".git/HEAD": b"ref: ../../etc/passwd"}, ""),
        ({".git/HEAD": b"ref: refs/heads/none"}, ""),
        ({".git/HEAD": b"\xff\xfe"}, ""),
        ({"a.py": b""}, ""),
        ({".git": b"gitdir: real", "real/HEAD": COMMIT.encode()}, COMMIT),
    ],
)  # fmt: skip
def test_commits(tmp_path: Path, files: dict[str, bytes], commit: str) -> None:
    assert git_commit(write_tree(tmp_path, files)) == commit


def tar_gz(*infos: tuple[tarfile.TarInfo, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for info, data in infos:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def info(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    return made


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_long_names_in_every_dialect(form: int) -> None:
    name = "x-1/" + "d" * 80 + "/" + "n" * 90
    data = tar_gz((info(name), b"1"), (info("x-1/short"), b"22"), form=form)
    sdist = SdistArtifact(BytesSource(data), "x.tar.gz")
    assert {m.path: sdist.read(m.path) for m in sdist.members()} == {name[4:]: b"1", "short": b"22"}


def test_links_in_an_sdist_are_told_and_not_followed() -> None:
    link = info("x-1/passwd", tarfile.SYMTYPE)
    link.linkname = "/etc/passwd"
    data = tar_gz((info("x-1", tarfile.DIRTYPE), b""), (link, b""), (info("x-1/a.py"), b"1"))
    sdist = SdistArtifact(BytesSource(data), "x.tar.gz")
    assert [m.path for m in sdist.members()] == ["a.py"]
    (unknown,) = sdist.unknowns()
    assert unknown.where == "x.tar.gz!x-1/passwd"


@pytest.mark.parametrize(
    "data",
    [
        tar_gz((info("../a"), b"1")),
        tar_gz((info("/a"), b"1")),
        tar_gz((info("a"), b"1"), (info("a"), b"2")),
        gzip.compress(b"hello" * 500, mtime=0),
        gzip.compress(b"", mtime=0),
        b"\x1f\x8b" + bytes(50),
        sdist_bytes({"a.py": b"1" * 5000})[:-20],
        sdist_bytes({"a.py": b"1"}) + b"junk",
        gzip.compress(gzip.decompress(sdist_bytes({"a.py": b"1" * 5000}))[:2000], mtime=0),
    ],
)
def test_bad_sdists(data: bytes) -> None:
    with pytest.raises(FormatError) as caught:
        SdistArtifact(BytesSource(data), "bad.tar.gz")
    assert caught.value.where.startswith("bad.tar.gz")


def test_a_gzip_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkproof.formats.gzip_source._FREE_BYTES", 1 << 20)
    with pytest.raises(FormatError, match="bomb"):
        SdistArtifact(BytesSource(sdist_bytes({"a": bytes(9 << 20)})), "bad.tar.gz")


def test_random_access_in_a_large_sdist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkproof.formats.gzip_source._SPACING_BYTES", 300_000)
    monkeypatch.setattr("sparkproof.formats.gzip_source._MAX_CHECKPOINTS", 4)
    files = {f"f{i:02}": os.urandom(1000) * 100 for i in range(40)}
    source = BytesSource(sdist_bytes(files))
    sdist = SdistArtifact(source, "x.tar.gz")
    for path in sorted(files, reverse=True):
        assert sdist.read(path) == files[path]
    assert sdist.read("f20") == files["f20"]


def test_two_gzip_members_and_padding() -> None:
    plain = gzip.decompress(sdist_bytes({"a.py": b"1" * 3000}))
    data = gzip.compress(plain[:1000]) + gzip.compress(plain[1000:]) + bytes(100)
    assert SdistArtifact(BytesSource(data), "x.tar.gz").read("a.py") == b"1" * 3000


def test_what_a_wheel_says_of_itself(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, build="1", version="0.21.0")
    subject, artifact = open_artifact(str(path))
    assert (subject.title, subject.build_tag) == ("vllm 0.21.0 (build 1)", "1")
    assert subject.tags == ("cp38-abi3-manylinux_2_28_aarch64",)
    assert subject.notes == ()
    assert subject.size_bytes == path.stat().st_size
    artifact.close()
    renamed = path.rename(tmp_path / "vllm-9.9-py3-none-any.whl")
    subject, artifact = open_artifact(renamed.as_uri())
    assert subject.notes == ("its metadata says vllm 0.21.0",)
    artifact.close()
    renamed = renamed.rename(tmp_path / "download.whl")
    subject, artifact = open_artifact(str(renamed))
    assert (subject.name, subject.version) == ("vllm", "0.21.0")
    artifact.close()


@pytest.mark.parametrize("ref", ["server:http://s:8000", "host:spark"])
def test_kinds_for_later_say_so(ref: str) -> None:
    with pytest.raises(UsageError, match="can't look into") as caught:
        open_artifact(ref)
    assert caught.value.exit_code is ExitCode.USAGE


def test_what_is_not_there(tmp_path: Path) -> None:
    for ref in (f"{tmp_path}/no.whl", f"tree:{tmp_path}/no", f"{tmp_path}/no.tar.gz"):
        with pytest.raises(UnreachableError, match="can't be found") as caught:
            open_artifact(ref)
        assert caught.value.hint
    with pytest.raises(UnreachableError, match="can't be found"):
        open_artifact("tree:" + "x" * 3000)
    with pytest.raises(UsageError, match="no such user"):
        open_artifact("~nobody-of-that-name/x.whl")
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(UsageError):
        open_artifact(f"tree:{tmp_path}/file.txt")
    with pytest.raises(UsageError):
        open_artifact(f"wheel:{tmp_path}/")
    with pytest.raises(FormatError, match="no zip archive"):
        open_artifact(f"wheel:{tmp_path}/file.txt")
