"""Small files of the user's: pipes and devices, which may never end, are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sparkproof.adapters.files import (
    is_file,
    is_there,
    read_file,
    refuse_unwritable,
    write_file,
)
from sparkproof.adapters.identity import git_commit
from sparkproof.adapters.meminfo import read_meminfo
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.usecases.fit.inputs import read_deployment


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "d.toml"
    os.mkfifo(path)
    return path


def test_a_pipe_is_no_file_and_nobody_waits_for_it(pipe: Path) -> None:
    for read in (read_deployment, read_meminfo, lambda path: read_file(path, 10)):
        with pytest.raises(UnreachableError, match=r"d\.toml is no regular file") as caught:
            read(pipe)
        assert caught.value.hint


def test_a_device_that_never_ends_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "d.toml").symlink_to("/dev/zero")
    with pytest.raises(UnreachableError, match="no regular file"):
        read_deployment(tmp_path / "d.toml")


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    device = tmp_path / "page.html"
    device.symlink_to("/dev/null")
    refuse_unwritable(device)
    write_file(device, "page")
    assert device.readlink() == Path("/dev/null")
    assert device.is_char_device()
    assert list(tmp_path.iterdir()) == [device]


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    write_file(page, "old and longer")
    write_file(page, "new")
    assert page.read_text(encoding="utf-8") == "new"
    assert list(page.parent.iterdir()) == [page]


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_file(tmp_path / "x", 5) == b"12345"
    with pytest.raises(FormatError, match="x: larger than 4 bytes"):
        read_file(tmp_path / "x", 4)


def test_names_that_no_disk_holds_are_not_there(tmp_path: Path) -> None:
    for name in ("a" * 5000, "~nobody-of-that-name/x", "a\0b"):
        assert not is_there(Path(name))
        assert not is_file(Path(name))
    assert is_there(tmp_path)
    assert not is_file(tmp_path)


def test_a_checkpoint_of_absurd_length_is_left_to_those_who_open_it(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(f'checkpoint = "{"a/" * 5000}"\n')
    assert read_deployment(tmp_path / "d.toml").checkpoint.startswith("a/a/")


def test_a_checkout_may_not_make_us_wait(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert git_commit(tmp_path) == ""


def test_a_head_that_is_a_pipe_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "HEAD")
    with pytest.raises(UnreachableError, match="HEAD is no regular file"):
        ReceiptStore(tmp_path).head()
