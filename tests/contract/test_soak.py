"""What a soak sees of the box, and on which servers records can be gone on with."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sparkproof.adapters.journal import Journal
from sparkproof.adapters.log_tail import LogTail
from sparkproof.adapters.server_process import find_server, look_at
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.observations.soak_run import WatchRecord
from sparkproof.core.report import Report
from sparkproof.core.results.soak import SoakResult
from sparkproof.core.verdict import Verdict
from sparkproof.gates.soak_plan import Wishes
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.usecases.soak.command import Surroundings, soak
from sparkproof.usecases.soak.run import Pace

AT_ONCE = Pace(0.0, 0.01, 0.0)
_CHILD = "import time; print('up', flush=True); time.sleep(600)"


def ask(
    folder: Path, wishes: Wishes | None = None, port: FakePort | None = None, **around: Any
) -> Report[SoakResult]:
    return soak(
        "http://x",
        wishes or Wishes(requests=40, concurrency=2, longest=256),
        Surroundings(records=folder, **around),
        port=port or FakePort(),
        pace=AT_ONCE,
    )


def standing(**behaviour: Any) -> FakePort:
    return FakePort(StandIn(Behaviour(**behaviour)))


def test_the_same_seed_asks_the_same(tmp_path: Path) -> None:
    bodies = []
    for name in ("one", "two"):
        port = standing()
        soak(
            "http://x",
            Wishes(requests=40, concurrency=1, longest=256),
            Surroundings(records=tmp_path / name),
            seed="fixed",
            port=port,
            pace=AT_ONCE,
        )
        bodies.append([body for path, body in port.stand_in.asked if "completions" in path])
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) == 40


def test_what_is_done_is_not_asked_again(tmp_path: Path) -> None:
    report = ask(tmp_path, port=standing(preemptions=1))
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    port = standing(preemptions=1)
    again = ask(tmp_path, port=port, resume="latest")
    assert again.result is not None
    assert again.result.requests == 40
    assert again.result.pressure.preemptions == report.result.pressure.preemptions
    assert not any("completions" in path for path, _ in port.stand_in.asked)


def test_a_receipt_knows_where_its_records_lie(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    wishes = Wishes(requests=20, concurrency=2, longest=256)
    around = Surroundings(records=tmp_path / "elsewhere")
    first = soak("http://x", wishes, around, store=store, port=FakePort(), pace=AT_ONCE)
    around = Surroundings(resume=first.receipt)
    again = soak("http://x", wishes, around, find_in=store, port=FakePort(), pace=AT_ONCE)
    assert first.result is not None
    assert again.result is not None
    assert again.result.requests == first.result.requests == 20


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [({"names": ("other",)}, "records are of `tiny`"), ({"max_model_len": 100}, "takes 100 now")],
)
def test_another_server_is_refused(tmp_path: Path, behaviour: dict[str, Any], words: str) -> None:
    ask(tmp_path)
    with pytest.raises(UsageError, match=words):
        ask(tmp_path, port=standing(**behaviour), resume="latest")


def test_records_of_something_else_are_refused(tmp_path: Path) -> None:
    class Plan(msgspec.Struct):
        n: int

    with Journal.create(tmp_path, "soak", Plan(1)) as journal:
        pass
    with pytest.raises(FormatError, match="no plan of a soak"):
        ask(tmp_path, resume=journal.path.name)


def test_a_time_is_kept_over_breaks(tmp_path: Path) -> None:
    wishes = Wishes(duration_s=0.2, concurrency=2, longest=256)
    report = ask(tmp_path, wishes)
    assert report.result is not None
    done = report.result.requests
    assert report.result.seconds >= 0.2
    again = ask(tmp_path, resume="latest")
    assert again.result is not None
    assert again.result.requests == done  # the time is over


def test_a_disk_that_fills_up_ends_it_with_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Journal, record: Any) -> None:
        if getattr(record, "n", 0) > 20:
            raise UnreachableError("can't write records in x: No space left on device", hint="")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(UnreachableError, match="No space left"):
        ask(tmp_path)


def test_a_look_that_can_not_be_written_down_ends_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that watches is a task of its own: what ends it must not be lost with it."""
    append, looks = Journal.append, []

    def full(self: Journal, record: Any) -> None:
        if isinstance(record, WatchRecord):
            looks.append(record)
            if len(looks) == 2:
                raise UnreachableError("can't write records in x: No space left on device", hint="")
        append(self, record)

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(UnreachableError, match="No space left"):
        ask(tmp_path)


def test_a_version_of_any_length_is_quoted_in_part(tmp_path: Path) -> None:
    report = ask(tmp_path, port=standing(version="9" * 10_000))
    assert len(report.subjects[0].version) == 120


def test_a_log_that_is_rotated_is_read_from_its_new_beginning(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"INFO old\n")
    tail = LogTail(path)
    path.rename(tmp_path / "server.log.1")
    path.write_bytes(b"ERROR at once\n" + b"INFO and longer than the old one was\n" * 9)
    tail.look()
    assert tail.first_error == "ERROR at once"
    path.unlink()
    os.mkfifo(path)
    tail.look()  # a pipe would keep us waiting
    assert tail.errors == 1


def test_a_log_is_followed_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"ERROR old\n" * 3)
    tail = LogTail(path)
    tail.look()
    assert (tail.new_bytes, tail.errors, tail.line_at_start()) == (0, 0, 3)
    with path.open("ab") as file:
        file.write(b"INFO fine\n(EngineCore pid=1) ERR")
        file.flush()
        tail.look()
        assert tail.errors == 0
        file.write(b"OR the first\x1b[0m\nERROR the second\n")
    tail.look()
    assert tail.errors == 2
    assert tail.first_error.startswith("(EngineCore pid=1) ERROR the first")
    path.write_bytes(b"ERROR begun anew\n")
    tail.look()
    assert (tail.errors, tail.line_at_start()) == (3, 0)
    path.unlink()
    tail.look()
    assert tail.errors == 3


def test_a_log_without_line_feeds_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"")
    tail = LogTail(path)
    path.write_bytes(b"x" * (3 << 20))
    tail.look()
    assert tail.new_bytes == 3 << 20
    assert len(tail._rest) <= 8 << 10
    with pytest.raises(UnreachableError, match="no such file"):
        LogTail(tmp_path)


@pytest.mark.enable_socket
def test_the_process_behind_a_port_is_found() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        assert find_server(f"http://127.0.0.1:{port}") == 0  # nothing listens yet
        server.listen()
        assert find_server(f"http://127.0.0.1:{port}") == os.getpid()
        assert find_server(f"http://example.org:{port}") == 0
    assert find_server(f"http://127.0.0.1:{port}") == 0


def test_a_process_is_seen_with_its_children_and_missed_when_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        ours, alone = look_at(os.getpid()), look_at(child.pid)
        child.kill()
    assert ours is not None
    assert alone is not None
    assert ours.processes >= 2
    assert alone.processes == 1
    assert ours.rss_bytes > alone.rss_bytes > 1 << 20
    assert look_at(child.pid) is None
