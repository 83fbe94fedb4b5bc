"""The records of a long run on a real file system: crashes, damage, two writers, a full disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from sparkproof.adapters.journal import Journal, find_journal, read_records, records_folder
from sparkproof.core.errors import FormatError, UnreachableError, UsageError

_WRITER = """
import sys, time
from pathlib import Path
import msgspec
from sparkproof.adapters.journal import Journal

class Plan(msgspec.Struct):
    n: int

journal = Journal.create(Path(sys.argv[1]), "soak", Plan(7))
for number in range(100):
    journal.append({"n": number})
print("written", flush=True)
time.sleep(600)
"""


class Plan(msgspec.Struct, frozen=True):
    n: int


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    n: int
    text: str = ""


def numbers(path: Path) -> list[int]:
    return [record.n for record in read_records(path, Record)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three records."""
    with Journal.create(tmp_path, "soak", Plan(1)) as journal:
        for number in range(3):
            journal.append(Record(number))
    return journal.path


def test_a_run_goes_on_where_it_was(path: Path, tmp_path: Path) -> None:
    with Journal.resume(path, "soak") as journal:
        assert msgspec.json.decode(journal.head.plan, type=Plan) == Plan(1)
        journal.append(Record(3))
        assert [r.n for r in journal.records(Record)] == [0, 1, 2, 3]
    assert find_journal(tmp_path, "soak", "latest") == path
    assert find_journal(tmp_path, "soak", path.name) == path
    assert find_journal(Path("/nowhere"), "soak", str(path)) == path


@pytest.mark.parametrize("tail", [b'{"n": 3', b"\0" * 40, b'{"n": 3,\n', b"\0" * 40 + b"\n"])
def test_a_last_line_that_was_cut_short_is_dropped(path: Path, tail: bytes) -> None:
    with path.open("ab") as file:
        file.write(tail)
    assert numbers(path) == [0, 1, 2]
    with Journal.resume(path, "soak") as journal:
        journal.append(Record(9))
    assert numbers(path) == [0, 1, 2, 9]


def test_damage_in_the_middle_is_told_with_its_line(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"{damage\n", *lines[2:]]))
    with pytest.raises(FormatError) as caught:
        numbers(path)
    assert caught.value.line == 3


def test_another_plan_under_the_same_digest_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"plan":{"n":1}', b'"plan":{"n":2}'))
    with pytest.raises(FormatError, match="plan"):
        Journal.resume(path, "soak")


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"schema": 1}\n', b"[" * 100_000])
def test_what_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.jsonl").write_bytes(content)
    with pytest.raises(FormatError):
        Journal.resume(tmp_path / "other.jsonl", "soak")


def test_wrong_ones_are_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="records of soak"):
        Journal.resume(path, "ab")
    for reference in ("latest", "nothing.jsonl", ""):
        with pytest.raises(UsageError, match="no records"):
            find_journal(tmp_path, "ab", reference)
    with Journal.resume(path, "soak"), pytest.raises(UsageError, match="another run"):
        Journal.resume(path, "soak")


def test_nothing_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _WRITER, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert numbers(find_journal(tmp_path, "soak", "latest")) == list(range(100))


def test_a_long_file_is_read_in_flat_memory(tmp_path: Path) -> None:
    with Journal.create(tmp_path, "soak", Plan(1)) as journal:
        for number in range(2000):
            journal.append(Record(number, "x" * 2000))
    tracemalloc.start()
    try:
        assert sum(1 for _ in journal.records(Record)) == 2000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_half_a_surrogate_pair_is_kept_as_an_escape(path: Path) -> None:
    with Journal.resume(path, "soak") as journal:
        journal.append(Record(3, "a\ud800"))
    assert list(read_records(path, Record))[-1].text.startswith("a")


def test_a_full_disk_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Journal.create(tmp_path, "soak", Plan(1)) as journal:

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(UnreachableError, match="No space left"):
            journal.sync()
        monkeypatch.undo()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UnreachableError, match="can't write records"):
        Journal.create(tmp_path / "file", "soak", Plan(1))


def test_records_lie_beside_the_receipts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARKPROOF_DATA", str(tmp_path))
    assert records_folder() == tmp_path / "records"
