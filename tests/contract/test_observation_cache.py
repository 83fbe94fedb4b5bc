"""What was read is found again, and only for the same bytes, the same question, the same reader."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from sparkproof.adapters import observation_cache
from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.observation_cache import MAX_ENTRIES, ObservationCache
from sparkproof.core.refs import RefKind
from sparkproof.core.subject import Subject


class Seen(msgspec.Struct, frozen=True):
    words: tuple[str, ...]


class Reader:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Seen:
        self.times += 1
        return Seen((f"reading {self.times}",))


def subject(identity: str = "sha256:" + "a" * 64, *, verified: bool = True) -> Subject:
    return Subject(kind=RefKind.WHEEL, ref="x.whl", identity=identity, verified=verified)


@pytest.fixture
def files(tmp_path: Path) -> ArtifactCache:
    return ArtifactCache(tmp_path / "cache")


def test_the_second_look_reads_nothing(files: ArtifactCache) -> None:
    reader = Reader()
    first = ObservationCache(files, subject()).recall(Seen, ["12.1"], reader)
    again = ObservationCache(files, subject()).recall(Seen, ["12.1"], reader)
    assert (first, reader.times) == (again, 1)


@pytest.mark.parametrize(
    ("other", "asked"),
    [
        (subject("sha256:" + "b" * 64), ["12.1"]),
        (subject(), ["12.0"]),
        (subject(verified=False), ["12.1"]),
        (subject("listing:" + "a" * 64), ["12.1"]),
        (subject("record:" + "a" * 64), ["12.1"]),
    ],
)
def test_anything_else_is_read(files: ArtifactCache, other: Subject, asked: list[str]) -> None:
    reader = Reader()
    ObservationCache(files, subject()).recall(Seen, ["12.1"], reader)
    assert ObservationCache(files, other).recall(Seen, asked, reader) == Seen(("reading 2",))


def test_a_tree_whose_files_may_change_is_read_each_time(files: ArtifactCache) -> None:
    reader = Reader()
    for _ in range(2):
        ObservationCache(files, subject("listing:" + "a" * 64)).recall(Seen, [], reader)
    assert reader.times == 2


def test_another_reader_finds_nothing(
    files: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader()
    ObservationCache(files, subject()).recall(Seen, [], reader)
    monkeypatch.setattr(observation_cache, "reader_digest", lambda: "another")
    ObservationCache(files, subject()).recall(Seen, [], reader)
    assert reader.times == 2


@pytest.mark.parametrize("at", [0, 31, 32, 40, -1])
def test_a_damaged_entry_is_read_again(files: ArtifactCache, at: int) -> None:
    reader = Reader()
    ObservationCache(files, subject()).recall(Seen, [], reader)
    (entry,) = files.folder.rglob("*.mp.zst")
    data = bytearray(entry.read_bytes())
    data[at] ^= 1
    entry.write_bytes(data)
    assert ObservationCache(files, subject()).recall(Seen, [], reader) == Seen(("reading 2",))


def test_a_torn_entry_is_read_again(files: ArtifactCache) -> None:
    reader = Reader()
    ObservationCache(files, subject()).recall(Seen, [], reader)
    (entry,) = files.folder.rglob("*.mp.zst")
    os.truncate(entry, 20)
    ObservationCache(files, subject()).recall(Seen, [], reader)
    assert reader.times == 2


def test_a_cache_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    reader = Reader()
    seen = ObservationCache(ArtifactCache(tmp_path / "cache"), subject()).recall(Seen, [], reader)
    assert seen == Seen(("reading 1",))


def test_it_can_be_switched_off(files: ArtifactCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKPROOF_NO_MEMORY", "1")
    reader = Reader()
    for _ in range(2):
        ObservationCache(files, subject()).recall(Seen, [], reader)
    assert reader.times == 2
    assert not list(files.folder.rglob("*.mp.zst"))


def test_old_entries_make_room(files: ArtifactCache) -> None:
    for number in range(MAX_ENTRIES + 5):
        ObservationCache(files, subject()).recall(Seen, [number], Reader())
    kept = list(files.folder.rglob("*.mp.zst"))
    assert len(kept) == MAX_ENTRIES
    newest = Reader()
    ObservationCache(files, subject()).recall(Seen, [MAX_ENTRIES + 4], newest)
    assert newest.times == 0
