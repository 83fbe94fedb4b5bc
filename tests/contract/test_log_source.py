"""What every log source promises, by the file adapter, the program adapter and a fake alike."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparkproof.adapters.log_sources import (
    CommandLog,
    FileLog,
    inspect_container,
    open_log,
    read_small,
)
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.ports import LogSource
from sparkproof.usecases.log.claims import find_container

DATA = b"first\nsecond\n" * 3
MakeSource = Callable[[], LogSource]


class FakeLog:
    """Memory as a log source."""

    name = "fake"

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        yield from (DATA[:7], DATA[7:])


@pytest.fixture(params=["file", "program", "fake"])
def make_source(request: pytest.FixtureRequest, tmp_path: Path) -> MakeSource:
    path = tmp_path / "server.log"
    path.write_bytes(DATA)
    sources: dict[str, MakeSource] = {
        "file": lambda: FileLog(path),
        "program": lambda: CommandLog("container:x", ["/bin/cat", "--", str(path)], "-u"),
        "fake": FakeLog,
    }
    return sources[request.param]


def test_the_pieces_add_up_and_can_be_read_again(make_source: MakeSource) -> None:
    source = make_source()
    assert b"".join(source.chunks()) == DATA
    assert b"".join(source.chunks()) == DATA
    assert source.name
    assert "/" not in source.name


def test_a_reader_may_stop_early(make_source: MakeSource) -> None:
    chunks = iter(make_source().chunks())
    assert DATA.startswith(next(chunks))
    chunks.close()  # type: ignore[attr-defined]


def test_a_program_that_fails_says_why() -> None:
    source = CommandLog("container:gone", ["/bin/sh", "-c", "echo no such container; exit 1"], "-f")
    with pytest.raises(UnreachableError, match="container:gone: no such container"):
        list(source.chunks())


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A container engine that knows one container."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        "for last; do :; done\n"
        '[ "$last" = spark ] || { echo "no such container" >&2; exit 1; }\n'
        "case $1 in\n"
        "logs) echo from the engine;;\n"
        "inspect) printf %s '[{\"Config\":{}}]';;\n"
        "esac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin:/bin")
    return program


def test_an_image_that_cannot_be_asked_for_does_not_stop_a_log(docker: Path) -> None:
    container, unknowns = find_container("container:spark", None)
    assert container is not None
    assert unknowns == ()
    container, unknowns = find_container("container:gone", None)
    assert container is None
    assert [item.where for item in unknowns] == ["container:gone"]
    assert find_container("server.log", None) == (None, ())


def test_a_container_is_read_through_its_engine(docker: Path) -> None:
    assert b"".join(open_log("container:spark").chunks()) == b"from the engine\n"
    assert inspect_container("spark") == b'[{"Config":{}}]'
    with pytest.raises(UnreachableError, match="no such container"):
        list(open_log("container:gone").chunks())
    with pytest.raises(UnreachableError, match="no such container"):
        inspect_container("gone")


@pytest.mark.parametrize("name", ["container:-rm", "container:a b", "unit:$(x)", "container:"])
def test_a_name_that_is_none_runs_nothing(name: str) -> None:
    with pytest.raises(UsageError):
        open_log(name)


def test_what_is_not_here_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnreachableError, match="no such file"):
        open_log(str(tmp_path / "none.log"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreachableError, match="docker nor podman"):
        open_log("container:spark")
    with pytest.raises(UnreachableError, match="journalctl"):
        open_log("unit:vllm")
    big = tmp_path / "big"
    big.write_bytes(b"x" * 11)
    with pytest.raises(UnreachableError, match="larger than 10"):
        read_small(big, 10)
