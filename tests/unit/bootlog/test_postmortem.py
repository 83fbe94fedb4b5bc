"""Which of the kernel's events ended a boot, and what a container's state says."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.bootlog.conftest import INDEX, ReadText

from sparkproof.bootlog.diagnosis import diagnose
from sparkproof.bootlog.postmortem import (
    DeathPieces,
    build_timeline,
    explain_exit,
    other_server,
    own_events,
    with_pieces,
)
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.boot_log import BootLog, Hit, Outcome
from sparkproof.core.results.log import Diagnosis
from sparkproof.facts.book import signatures
from sparkproof.formats.kernel_log import parse_kernel_log
from sparkproof.formats.stamps import parse_moment, seconds_after
from sparkproof.formats.vllm_log.reader import read_log

START = (
    "(APIServer pid=1) INFO 11-29 20:41:25 [api_utils.py:345]  █ ▀▄▀ █  version 0.26.0\n"
    "(EngineCore pid=2854) INFO 11-29 20:42:11 [x.py:1] Available KV cache memory: 7.15 GiB\n"
    "(APIServer pid=1) INFO:     Application startup complete.\n"
)
DIED = (
    START
    + "(APIServer pid=1) ERROR 11-29 21:10:06 [core_client.py:564] Engine core proc EngineCore"
    " died unexpectedly, shutting down client.\n"
)
HOST = "Out of memory: Killed process {} (VLLM::EngineCor) total-vm:90000000kB"
LIMIT = "Memory cgroup out of memory: Killed process {} (VLLM::EngineCor) total-vm:9kB"


def _hits(text: str) -> tuple[Hit, ...]:
    try:
        return read_log([text.encode()], INDEX, "kernel").boots[-1].hits
    except FormatError:
        return ()


def _judge(boot: BootLog, kernel: str, pieces: DeathPieces = DeathPieces()) -> Diagnosis:  # noqa: B008
    pieces = msgspec.structs.replace(pieces, kernel=parse_kernel_log([kernel.encode()]))
    own = own_events(boot, pieces)
    hits = _hits("\n".join(event.text for event in own))
    pieces = msgspec.structs.replace(pieces, kernel_hits=hits)
    told = [e for e in build_timeline(boot, pieces) if e.source == "kernel"]
    assert [e.what.startswith("of another time") for e in told] == [
        e not in own for e in pieces.kernel
    ]
    return diagnose(with_pieces(boot, pieces), signatures().values(), "log")


def _named(diagnosis: Diagnosis) -> str:
    return diagnosis.cause.signature if diagnosis.cause else ""


@pytest.mark.parametrize(
    ("stamp", "kill", "signature"),
    [
        ("Nov 29 21:10:05", HOST.format(777), "memory/host-oom-kill"),
        ("Nov 29 21:10:05", LIMIT.format(777), "memory/cgroup-oom-kill"),
        ("2026-11-29T21:10:05+0000", HOST.format(777), "memory/host-oom-kill"),
        ("[Sun Nov 29 21:10:05 2026]", HOST.format(777), "memory/host-oom-kill"),
        ("[123456.789]", HOST.format(2854), "memory/host-oom-kill"),
        ("[123456.789]", HOST.format(777), ""),
        ("Nov 20 03:00:00", HOST.format(777), ""),
        ("Nov 20 03:00:00", HOST.format(2854), ""),
        ("2025-11-29T21:10:05+0000", HOST.format(777), "memory/host-oom-kill"),
        # The same minute in another zone: only by the process is it ours.
        ("Nov 29 23:10:05", HOST.format(2854), "memory/host-oom-kill"),
        ("Nov 29 23:10:05", HOST.format(777), ""),
        ("Nov 29 21:10:05", "Out of memory: Killed process 9 (chrome) total-vm:1kB", ""),
    ],
)
def test_a_kill_is_the_cause_by_its_time_or_process(
    stamp: str, kill: str, signature: str, read_text: ReadText
) -> None:
    assert _named(_judge(read_text(DIED).boots[-1], f"{stamp} spark kernel: {kill}\n")) == signature


@pytest.mark.parametrize(
    ("finished", "signature"),
    [
        ("2026-11-29T21:10:07.123456789Z", "memory/host-oom-kill"),
        ("2026-11-29T22:10:07.5+01:00", "memory/host-oom-kill"),
        ("2026-11-30T21:10:07Z", ""),
    ],
)
def test_zones_that_are_stated_are_compared(
    finished: str, signature: str, read_text: ReadText
) -> None:
    boot = read_text(START).boots[-1]
    pieces = DeathPieces(exit_code=137, ended=True, finished=finished)
    kernel = "2026-11-29T13:10:05-0800 spark kernel: " + HOST.format(777) + "\n"
    assert _named(_judge(boot, kernel, pieces)) == signature


def test_an_old_fault_of_the_gpu_is_not_this_boots(read_text: ReadText) -> None:
    boot = read_text(DIED).boots[-1]
    fault = "spark kernel: NVRM: Xid (PCI:000f:01:00): 31, pid=9, name=VLLM::EngineCor\n"
    assert [c.signature for c in _judge(boot, f"Nov 29 21:10:05 {fault}").kinds] == ["host/xid-31"]
    assert not _judge(boot, f"Nov 20 21:10:05 {fault}").kinds


def test_the_engines_flag_does_not_say_whose_memory(read_text: ReadText) -> None:
    boot = read_text(START).boots[-1]
    pieces = DeathPieces(exit_code=137, ended=True, oom_killed=True)
    flagged = msgspec.structs.replace(pieces, kernel_hits=_hits('"OOMKilled": true'))
    diagnosis = diagnose(with_pieces(boot, flagged), signatures().values(), "log")
    assert _named(diagnosis) == "memory/oom-killed"
    kernel = f"Nov 29 21:10:05 spark kernel: {LIMIT.format(777)}\n"
    assert _named(_judge(boot, kernel, pieces)) == "memory/cgroup-oom-kill"


@pytest.mark.parametrize(
    ("code", "ended", "outcome"),
    [
        (143, True, Outcome.STOPPED),
        (0, True, Outcome.STOPPED),
        (1, True, Outcome.DIED),
        (137, True, Outcome.DIED),
        (0, False, Outcome.SERVING),
        (-1, False, Outcome.SERVING),
    ],
)
def test_a_container_that_ended_serves_no_more(
    code: int, ended: bool, outcome: Outcome, read_text: ReadText
) -> None:
    boot = read_text(START).boots[-1]
    assert with_pieces(boot, DeathPieces(exit_code=code, ended=ended)).outcome is outcome


def test_a_kill_without_a_witness_cannot_be_told(read_text: ReadText) -> None:
    boot = read_text(START).boots[-1]
    diagnosis = _judge(boot, "", DeathPieces(exit_code=137, ended=True))
    assert diagnosis.cause is None
    assert diagnosis.troubled
    assert any("journalctl -k" in item for item in diagnosis.keep)
    assert "SIGKILL" in explain_exit(137)


def test_the_timeline_has_each_source(read_text: ReadText) -> None:
    boot = read_text(START).boots[-1]
    kernel = parse_kernel_log([f"Nov 29 21:10:05 spark kernel: {HOST.format(1)}\n".encode()])
    timeline = build_timeline(boot, DeathPieces(exit_code=137, ended=True, kernel=kernel))
    assert list(dict.fromkeys(e.source for e in timeline)) == ["engine", "kernel", "container"]


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [
        ("12-31 23:59:50", "Jan  1 00:00:10", 20.0),
        ("2026-11-29 21:00:00", "11-29 21:00:30", 30.0),
        ("2026-11-29T21:00:00Z", "2026-11-29T22:00:05.25+01:00", 5.0),
        ("2025-11-29 21:00:00", "2026-11-29 21:00:00", 365 * 86400.0),
    ],
)
def test_moments(first: str, second: str, seconds: float) -> None:
    start, end = parse_moment(first), parse_moment(second)
    assert start is not None
    assert end is not None
    assert seconds_after(start, end) == seconds


@pytest.mark.parametrize(
    "text", ["", "[12.5]", "Foo 29 21:10:05", "13-45 99:00:00", "0001-01-01T00:00:00+2359"]
)
def test_no_moment(text: str) -> None:
    assert parse_moment(text) is None


@pytest.mark.parametrize(
    ("argument", "label", "other"),
    [
        ("{'served_model_name': ['m', 'alias']}", "m", ""),
        ("{'served_model_name': ['m', 'alias']}", "tiny", "tiny"),
        ("{'model': '/models/x'}", "/models/x", ""),
        ("{'port': 8000}", "tiny", ""),
    ],
)
def test_metrics_of_another_server_are_told(
    argument: str, label: str, other: str, read_text: ReadText
) -> None:
    told = f"(APIServer pid=1) INFO 11-29 20:41:26 [u.py:1] non-default args: {argument}\n"
    boot = read_text(START + told).boots[-1]
    line = f'vllm:num_requests_running{{engine="0",model_name="{label}"}} 1.0'
    pieces = DeathPieces(metrics=(line,))
    assert other_server(boot, pieces) == other
    (entry,) = (e for e in build_timeline(boot, pieces) if e.source == "metrics")
    assert entry.what.startswith("of another server (tiny): ") is bool(other)
