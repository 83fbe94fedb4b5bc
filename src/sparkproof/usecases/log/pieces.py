"""What was kept beside a server's log: each file refused by name where it is of another kind."""

from __future__ import annotations

import re
from pathlib import Path

from sparkproof.adapters.log_sources import read_small
from sparkproof.core.errors import FormatError
from sparkproof.formats.kernel_log import KernelEvent, is_kernel_log, parse_kernel_log
from sparkproof.formats.magic import HEAD_BYTES, kind_by_bytes, known_kind

_PIECE_BYTES = 64 << 20
_TO_LOG = "| sparkproof log -"
_TO_FILE = "> FILE.txt, and give that"
_METRIC = re.compile(r"^vllm:", re.MULTILINE)
_STALL = re.compile(r"^(?:some|full) avg10=", re.MULTILINE)
_METRICS = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions_total",
)
_MOST_METRICS = 16


def read_kernel(path: Path | None) -> tuple[KernelEvent, ...]:
    """Events of a kept kernel log; none without a file.

    Raises:
        FormatError, UnreachableError: it is something else, or can't be read.
    """
    data = _read(path, "journalctl -k > FILE, or dmesg > FILE")
    if path is not None and not is_kernel_log(data):
        raise FormatError(
            "no line of this is a kernel's log",
            where=path.name,
            hint="give the output of `journalctl -k` or `dmesg`",
        )
    return parse_kernel_log([data])


def read_metrics(path: Path | None) -> tuple[str, ...]:
    """The lines of a kept scrape that a death is told by; none without a file.

    Raises:
        FormatError, UnreachableError: it is something else, or can't be read.
    """
    text = _read(path, "curl URL/metrics > FILE").decode("utf-8", "replace")
    if path is not None and not _METRIC.search(text):
        raise FormatError(
            "no line of this is a metric of vLLM",
            where=path.name,
            hint="give what the server's /metrics said: curl URL/metrics > FILE",
        )
    found = (line for line in text.splitlines() if line.startswith(_METRICS))
    return tuple(found)[:_MOST_METRICS]


def read_pressure(path: Path | None) -> str:
    """The text of a kept ``/proc/pressure/memory``; "" without a file.

    Raises:
        FormatError, UnreachableError: it is something else, or can't be read.
    """
    text = _read(path, "cat /proc/pressure/memory > FILE").decode("utf-8", "replace")
    if path is not None and not _STALL.search(text):
        raise FormatError(
            "this does not tell of memory pressure",
            where=path.name,
            hint="cat /proc/pressure/memory > FILE, on the box",
        )
    return text


def _read(path: Path | None, afresh: str) -> bytes:
    if path is None:
        return b""
    data = read_small(path, _PIECE_BYTES)
    head = data[:HEAD_BYTES]
    kind = known_kind(head) or kind_by_bytes(head)
    if kind is not None:
        way_out = kind.way_out.replace(_TO_LOG, _TO_FILE)
        raise FormatError(
            f"this is {kind.name}, not text",
            where=path.name,
            hint=way_out or f"give text: {afresh}",
        )
    return data
