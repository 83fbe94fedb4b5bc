"""The receipt store on a real file system: order, crashes, concurrency, trouble."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sparkproof.adapters import store as store_module
from sparkproof.adapters.receipt_index import ReceiptIndex
from sparkproof.adapters.store import ReceiptStore, default_folder
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.receipt import Receipt
from sparkproof.core.report import Report, schema_name
from sparkproof.core.verdict import Verdict
from sparkproof.receipts.receipt import Trouble, seal, verify_chain

_APPENDER = """
import sys
from pathlib import Path
from sparkproof.adapters.receipt_index import ReceiptIndex
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.report import Report
from sparkproof.core.verdict import Verdict
from sparkproof.receipts.receipt import seal

store = ReceiptStore(Path({folder!r}))
for number in range({each}):
    report = Report(
        schema="sparkproof/prove/1",
        command="prove",
        tool_version="0",
        generated_at="2026-11-29T12:00:00Z",
        verdict=Verdict.PASS,
        summary=f"{{sys.argv[1]}}{{number}}",
    )
    store.append(lambda previous: seal(report, inputs={{}}, previous=previous))
"""


def sealer(summary: str = "fine", command: str = "prove") -> Callable[[str], Receipt]:
    report: Report[object] = Report(
        schema=schema_name(command),
        command=command,
        tool_version="0.1.0",
        generated_at="2026-11-29T12:00:00Z",
        verdict=Verdict.PASS,
        summary=summary,
    )
    return lambda previous: seal(report, inputs={}, previous=previous)


@pytest.fixture
def store(tmp_path: Path) -> ReceiptStore:
    return ReceiptStore(tmp_path / "data" / "receipts")


def receipts_of(store: ReceiptStore) -> list[tuple[str, Receipt]]:
    found = []
    for name, item in store.read_all():
        assert isinstance(item, Receipt)
        found.append((name, item))
    return found


def troubles(store: ReceiptStore) -> list[Trouble]:
    problems = verify_chain(receipts_of(store), recorded_head=store.head())
    return [problem.trouble for problem in problems]


def test_receipts_are_numbered_chained_and_private(store: ReceiptStore) -> None:
    for number in range(3):
        receipt, path = store.append(sealer(f"run {number}"))
        short = receipt.hash.removeprefix("sha256:")[:12]
        assert path.name == f"{number + 1:06d}-prove-{short}.json"
        assert path.stat().st_mode & 0o077 == 0
    assert store.folder.stat().st_mode & 0o077 == 0
    assert troubles(store) == []
    assert store.head() == receipts_of(store)[-1][1].hash
    assert [p.name for p in store.folder.glob(".new-*")] == []


def test_an_empty_store_has_no_head(store: ReceiptStore) -> None:
    assert (store.head(), list(store.read_all())) == ("", [])


def test_a_command_of_two_words_makes_one_file_name(store: ReceiptStore) -> None:
    assert "-receipt-verify-" in store.append(sealer(command="receipt verify"))[1].name


def test_every_way_to_name_a_receipt(store: ReceiptStore) -> None:
    first, path = store.append(sealer("one"))
    last, _ = store.append(sealer("two"))
    short = first.hash.removeprefix("sha256:")
    for reference in ("1", short[:8], short, first.hash, str(path), path.name):
        assert store.find(reference)[1].hash == first.hash, reference
    assert store.find("latest")[1].hash == last.hash


@pytest.mark.parametrize(
    "reference", ["", "3", "latest", "abc", "0" * 64, "gone.json", "/no/such.json", "x/../y"]
)
def test_what_matches_nothing_says_so(store: ReceiptStore, reference: str) -> None:
    with pytest.raises(UsageError, match="no receipt") as caught:
        store.find(reference)
    assert "receipt list" in caught.value.hint


def test_the_rest_of_a_long_digest_counts(store: ReceiptStore) -> None:
    receipt, _ = store.append(sealer())
    with pytest.raises(UsageError, match="no receipt matches"):
        store.find(receipt.hash[:-1] + ("0" if receipt.hash[-1] != "0" else "1"))


def test_other_files_in_the_folder_are_no_receipts(store: ReceiptStore) -> None:
    store.append(sealer())
    (store.folder / "notes.json").write_text("{}")
    (store.folder / f"{10**40}.json").write_text("{}")
    os.mkfifo(store.folder / "000002-prove-aaaaaaaaaaaa.json")
    (store.folder / "000003-prove-folder.json").mkdir()
    assert len(receipts_of(store)) == 1


def test_the_receipt_after_a_high_number_is_seen_and_last(store: ReceiptStore) -> None:
    _, path = store.append(sealer("one"))
    path.rename(store.folder / path.name.replace("000001", "999999999999"))
    newest, written = store.append(sealer("two"))
    assert written.name.startswith("1000000000000-")
    assert [receipt.hash for _, receipt in receipts_of(store)][-1] == newest.hash
    assert store.find("latest")[1].hash == newest.hash
    assert store.find("999999999999")[0].startswith("999999999999-")
    with ReceiptIndex(store) as index:
        assert [row.hash for row in index.rows()[0]][-1] == newest.hash
    assert troubles(store) == []


def test_a_number_that_none_follows_is_told_with_the_way_out(store: ReceiptStore) -> None:
    _, path = store.append(sealer("one"))
    path.rename(store.folder / path.name.replace("000001", "9" * 18))
    with pytest.raises(UnreachableError, match="no number follows") as caught:
        store.append(sealer("two"))
    assert caught.value.hint.startswith("rename it")
    assert len(receipts_of(store)) == 1


def test_a_damaged_file_comes_as_its_error(store: ReceiptStore) -> None:
    _, path = store.append(sealer())
    path.write_bytes(path.read_bytes()[:-20])
    [(name, item)] = store.read_all()
    assert name == path.name
    assert isinstance(item, FormatError)


def test_a_crash_before_the_head_was_written_breaks_no_chain(
    store: ReceiptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(sealer("one"))
    with monkeypatch.context() as patch:
        patch.setattr(ReceiptStore, "_replace", _raise(errno.EIO))
        with pytest.raises(UnreachableError):
            store.append(sealer("two"))
    assert troubles(store) == [Trouble.HEAD_BEHIND]
    store.append(sealer("three"))
    assert troubles(store) == []
    assert len(receipts_of(store)) == 3


def test_a_removed_head_file_is_not_papered_over(store: ReceiptStore) -> None:
    for _ in range(2):
        store.append(sealer())
    (store.folder / "HEAD").unlink()
    store.append(sealer())
    assert troubles(store) == [Trouble.BROKEN_LINK]


def test_a_file_system_without_hard_links_works(
    store: ReceiptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", _raise(errno.EPERM))
    store.append(sealer("one"))
    store.append(sealer("two"))
    assert troubles(store) == []


def test_a_receipt_is_never_overwritten(
    store: ReceiptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = store.append(sealer("one"))
    before = path.read_bytes()
    monkeypatch.setattr(ReceiptStore, "files", lambda _self: [])
    monkeypatch.setattr(ReceiptStore, "head", lambda _self: "")
    with pytest.raises(UnreachableError, match="exists"):
        store.append(sealer("one"))
    assert path.read_bytes() == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_disk_that_takes_nothing_is_said_in_one_line(
    store: ReceiptStore, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store.append(sealer("one"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _raise(code))
        with pytest.raises(UnreachableError, match="can't write a receipt in") as caught:
            store.append(sealer("two"))
    assert "\n" not in str(caught.value)
    assert "SPARKPROOF_DATA" in caught.value.hint
    assert os.strerror(code) in str(caught.value)
    assert troubles(store) == []
    assert [p.name for p in store.folder.glob(".new-*")] == []


def test_a_folder_that_cannot_be_made_or_listed_is_not_an_empty_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ReceiptStore(tmp_path / "file" / "receipts")
    with pytest.raises(UnreachableError, match="can't write"):
        store.append(sealer())
    with pytest.raises(UnreachableError, match="can't list"):
        list(store.read_all())


def test_the_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARKPROOF_DATA", str(tmp_path))
    assert default_folder() == tmp_path / "receipts"
    monkeypatch.delenv("SPARKPROOF_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "sparkproof" / "receipts"


def test_processes_that_append_at_once_keep_one_chain(store: ReceiptStore) -> None:
    each = 8
    code = _APPENDER.format(folder=str(store.folder), each=each)
    workers = [subprocess.Popen([sys.executable, "-W", "error", "-c", code, name]) for name in "ab"]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert troubles(store) == []
    summaries = [
        msgspec.json.decode(receipt.report)["summary"] for _, receipt in receipts_of(store)
    ]
    assert sorted(summaries) == sorted(f"{name}{i}" for name in "ab" for i in range(each))


def _raise(code: int) -> Callable[..., None]:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_lock_that_is_not_let_go_of_costs_the_receipt_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process holds it for ever; the answer must not wait for that."""
    monkeypatch.setattr(store_module, "LOCK_S", 0.0)
    store = ReceiptStore(tmp_path)
    store.append(sealer())
    with (tmp_path / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UnreachableError, match="another process holds") as caught:
            store.append(sealer())
    assert caught.value.hint
    (tmp_path / ".lock").unlink()
    os.mkfifo(tmp_path / ".lock")  # opened to be written it would wait for a reader
    store.append(sealer())
    assert len(store.files()) == 2
