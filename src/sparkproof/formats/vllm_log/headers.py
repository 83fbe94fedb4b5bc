"""What stands before a message: vLLM's own header, and whatever carried the line here.

Carriers: ``docker logs -t``, container runtimes' files (CRI and JSON), compose, journald,
Ray, torch ranks, terminal colours. Carriers differ from log to log, vLLM's header hardly
does; so the header is searched for, and the carrier is only peeled where there is none.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_HEADER = re.compile(
    r"(?:\(([^\s()]{1,80}) pid=\d+[^()]*\) )?"
    r"(DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL) "
    r"((?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)? "
    r"\[?[\w./<>-]+:\d+\] ?"
)
_PROCESS = re.compile(r"\(([^()]{1,80}?) pid=\d+[^()]*\) ?")
_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_CARRIER = re.compile(
    rf"(?:{_STAMP} - [\w.]+ - [A-Z]+ - "
    rf"|{_STAMP} (?:std(?:out|err) [FP] )?(?:[\w.-]+ [\w@./-]+\[\d+\]: )?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [\w@./-]+(?:\[\d+\])?: "
    r"|[\w.-]+ +\| ?"
    r"|\[(?:rank|default)\d*\]:? ?)"
)
_UVICORN = re.compile(r"(?P<level>INFO|WARNING|ERROR|CRITICAL): +")


class Record(NamedTuple):
    """One line taken apart.

    Attributes:
        process: ``EngineCore``, ``Worker_TP0`` ... ("" for none).
        level: ``INFO`` ... ("" for raw output).
        time: ``MM-DD HH:MM:SS``, with a year where the log has one ("" for raw output).
        message: what remains.
    """

    process: str
    level: str
    time: str
    message: str


def parse_line(raw: bytes) -> Record:
    """Take a line apart; never fails."""
    text = plain_text(raw)
    header = _HEADER.match(text) or _HEADER.search(text)
    if header is None:
        return _raw_record(text)
    process, level, time = header.group(1, 2, 3)
    if process is None:
        outside = _PROCESS.search(text, 0, header.start()) if header.start() else None
        process = outside[1] if outside else ""
    return Record(process, level, time, text[header.end() :])


def plain_text(raw: bytes) -> str:
    """The line as text, without colours, carriage returns and a JSON log file's wrapping."""
    if raw[:7] == b'{"log":':
        raw = _unwrap(raw)
    if b"\x1b" in raw:
        raw = _ANSI.sub(b"", raw)
    text = raw.decode("utf-8", "replace")
    return text if "\r" not in text else last_segment(text.rstrip("\r\n"))


def last_segment(text: str) -> str:
    """What a terminal would show last: progress bars overwrite their line."""
    return text.rpartition("\r")[2]


def _unwrap(raw: bytes) -> bytes:
    try:
        inner = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return raw
    text = inner.get("log") if isinstance(inner, dict) else None
    return text.encode("utf-8", "replace") if isinstance(text, str) else raw


def _raw_record(text: str) -> Record:
    for _ in range(3):
        carrier = _CARRIER.match(text)
        if not carrier or not carrier.end():
            break
        text = text[carrier.end() :]
    process = ""
    tag = _PROCESS.match(text)
    if tag:
        process = tag[1]
        text = text[tag.end() :]
    uvicorn = _UVICORN.match(text)
    if uvicorn:
        return Record(process, uvicorn["level"], "", text[uvicorn.end() :])
    return Record(process, "", "", text)
