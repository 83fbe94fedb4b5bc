"""The kernel's log around a death: OOM kills, GPU faults, allocation failures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

import msgspec

from sparkproof.formats.vllm_log.lines import LineCutter

_MOST = 2000
_EVENT = re.compile(
    r"Out of memory: Killed process|oom-kill:|invoked oom-killer|Memory cgroup out of memory"
    r"|NVRM: Xid|NVRM: .*(?:NV_ERR_|Out of memory)|fallen off the bus"
    r"|blocked for more than \d+ seconds|watchdog: BUG: soft lockup|hard LOCKUP"
    r"|Main process exited|Failed with result|Kernel panic"
)
_STAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\[ *\d+\.\d+\]|\[[A-Z][a-z]{2} [A-Z][a-z]{2} [^\]]+\]"
)

_NO_ENTRIES = "-- No entries --"
_VICTIM = re.compile(r"Killed process (\d+)|oom-kill:.*\bpid=(\d+)")


class KernelEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line worth a place in a post-mortem.

    Attributes:
        at: its own stamp ("" for none).
        victim: the process that the OOM killer took, by the host's count (0 for another event).
    """

    at: str
    text: str
    line: int
    victim: int = 0


def is_kernel_log(data: bytes) -> bool:
    """Whether any line bears a stamp as ``journalctl -k`` and ``dmesg`` print, or is an event."""
    lines = data.decode("utf-8", "replace").splitlines()
    if not any(lines) or _NO_ENTRIES in lines:
        return True
    return any(_STAMP.match(line.strip()) or _EVENT.search(line) for line in lines)


def parse_kernel_log(chunks: Iterable[bytes]) -> tuple[KernelEvent, ...]:
    """The events of ``journalctl -k`` or ``dmesg`` output, in order, at most the last 2,000."""
    found: list[KernelEvent] = []
    number = 0
    cutter = LineCutter()
    for batch in chain(cutter.split(chunks), cutter.flush()):
        for raw in batch:
            number += 1
            text = raw.decode("utf-8", "replace").strip()
            event = _EVENT.search(text)
            if event:
                stamp = _STAMP.match(text)
                victim = _VICTIM.search(text)
                pid = int((victim[1] or victim[2])[:18]) if victim else 0
                found.append(KernelEvent(stamp[0] if stamp else "", text[:400], number, pid))
        del found[:-_MOST]
    return tuple(found)
