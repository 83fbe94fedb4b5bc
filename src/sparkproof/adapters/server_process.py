"""The process behind a local port, and its children: whether they live, and what memory they hold.

Read from ``/proc``; another machine's, another user's or another system's processes are not seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

_PROC = Path("/proc")
_LISTENS = "0A"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - compared with only
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Family(NamedTuple):
    """A process and what it started, at one moment."""

    processes: int
    rss_bytes: int


def find_server(address: str, proc: Path = _PROC) -> int:
    """The process that listens at a local address; 0 where it can't be seen."""
    parts = urlsplit(address)
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    if parts.hostname not in _LOCAL:
        return 0
    sockets = {f"socket:[{inode}]" for inode in _listening(port, proc)}
    found = (_pid_of(folder, sockets) for folder in proc.glob("[0-9]*")) if sockets else ()
    return min((pid for pid in found if pid), default=0)


def name_of(pid: int, proc: Path = _PROC) -> str:
    """What the system calls a process; "" where it is none, or another user's."""
    try:
        return (proc / str(pid) / "comm").read_text("utf-8", "replace").strip() if pid else ""
    except OSError:
        return ""


def look_at(pid: int, proc: Path = _PROC) -> Family | None:
    """The process and its children; None where it is gone."""
    family = family_of(pid, proc)
    return Family(len(family), sum(family.values()) * _PAGE_BYTES) if family else None


def family_of(pid: int, proc: Path = _PROC) -> dict[int, int]:
    """Resident pages of a process and of each of its children; empty where it is gone."""
    children: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    for folder in proc.glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (OSError, UnicodeDecodeError):
            continue
        if len(fields) > 21 and fields[0] != "Z":
            number = int(folder.name)
            children.setdefault(int(fields[1]), []).append(number)
            pages[number] = int(fields[21])
    family: dict[int, int] = {}
    todo = [pid] if pid in pages else []
    while todo:
        one = todo.pop()
        if one not in family:
            family[one] = pages[one]
            todo += children.get(one, [])
    return family


def _listening(port: int, proc: Path) -> list[str]:
    found = []
    for name in ("tcp", "tcp6"):
        try:
            rows = (proc / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            listens = len(fields) > 9 and fields[3] == _LISTENS
            if listens and int(fields[1].rpartition(":")[2], 16) == port:
                found.append(fields[9])
    return found


def _pid_of(folder: Path, sockets: set[str]) -> int:
    try:
        for entry in (folder / "fd").iterdir():
            if str(entry.readlink()) in sockets:
                return int(folder.name)
    except OSError:
        return 0
    return 0
