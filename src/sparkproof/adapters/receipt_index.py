"""An index of a store's receipts in SQLite: quick to list, and safe to delete at any time.

The JSON files are the truth. The index notes each file's name, size and time of change, takes in
what is new or changed whenever it is asked, and is made anew where it can't be read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import FormatError
from sparkproof.core.receipt import Receipt
from sparkproof.core.results.receipts import ReceiptRow

NAME = "index.sqlite3"
_VERSION = 3
_TABLE = """
create table if not exists receipts (
  file text primary key, size integer not null, changed integer not null,
  hash text not null, command text not null, created_at text not null,
  verdict text not null, summary text not null, subject text not null,
  inputs text not null, trouble text not null
)"""
_IN_ORDER = "order by cast(file as integer), file"
"""A name begins with its number, which has as many digits as it needs."""
_COLUMNS = "file, hash, command, created_at, verdict, summary, subject"


class ReceiptIndex:
    """The index of one store; use it in a ``with`` block."""

    def __init__(self, store: ReceiptStore) -> None:
        self._store = store
        self._path = store.folder / NAME

    def __enter__(self) -> ReceiptIndex:
        self._base = self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def rows(self, command: str = "") -> tuple[tuple[ReceiptRow, ...], tuple[FormatError, ...]]:
        """Receipts in the order they were written, and what could not be read.

        Args:
            command: only those of this command ("" for all).

        Raises:
            UnreachableError: the store can't be listed.
        """
        self._take_in()
        wanted = "where trouble = ''" + (" and command = ?" if command else "")
        found = self._base.execute(
            f"select {_COLUMNS} from receipts {wanted} {_IN_ORDER}",  # noqa: S608 - ours
            (command,) if command else (),
        )
        rows = tuple(ReceiptRow(*map(str, row)) for row in found)
        broken = self._base.execute("select file, trouble from receipts where trouble <> ''")
        return rows, tuple(FormatError(str(why), where=str(file)) for file, why in broken)

    def of_input(self, role: str, digest: str) -> tuple[ReceiptRow, ...]:
        """Receipts that were made of one input, in the order they were written.

        Args:
            role: e.g. ``deployment``; `digest` as the receipt notes it.

        Raises:
            UnreachableError: the store can't be listed.
        """
        self._take_in()
        found = self._base.execute(
            f"select {_COLUMNS} from receipts "  # noqa: S608 - ours
            f"where trouble = '' and json_extract(inputs, ?) = ? {_IN_ORDER}",
            (f'$."{role}"', digest),
        )
        return tuple(ReceiptRow(*map(str, row)) for row in found)

    def _open(self) -> sqlite3.Connection:
        for place in (str(self._path), ":memory:"):
            if place != ":memory:" and not self._store.folder.is_dir():
                continue
            with contextlib.suppress(sqlite3.DatabaseError, OSError):
                return self._ready(place)
            if place != ":memory:":  # damaged, or of another version, or not to be written
                with contextlib.suppress(sqlite3.DatabaseError, OSError):
                    self._path.unlink(missing_ok=True)
                    return self._ready(place)
        return self._ready(":memory:")

    def _ready(self, place: str) -> sqlite3.Connection:
        base = sqlite3.connect(place, timeout=5)
        try:
            (version,) = base.execute("pragma user_version").fetchone()
            if version not in (0, _VERSION):
                base.execute("drop table if exists receipts")
            base.execute(_TABLE)
            base.execute(f"pragma user_version = {_VERSION}")
            base.commit()
            base.execute("select count(trouble) from receipts")
        except sqlite3.DatabaseError:
            base.close()
            raise
        return base

    def _take_in(self) -> None:
        known = {
            str(file): (size, changed)
            for file, size, changed in self._base.execute(
                "select file, size, changed from receipts"
            )
        }
        present = dict(self._files())
        for name in known.keys() - present.keys():
            self._base.execute("delete from receipts where file = ?", (name,))
        for name, stamp in present.items():
            if known.get(name) != stamp:
                self._note(name, *stamp)
        with contextlib.suppress(sqlite3.OperationalError):  # read-only: good for this once
            self._base.commit()

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for path in self._store.files():
            with contextlib.suppress(OSError):
                found = path.stat()
                yield path.name, (found.st_size, found.st_mtime_ns)

    def _note(self, name: str, size: int, changed: int) -> None:
        try:
            _, receipt = self._store.find(name)
            told = (*_told(receipt), "")
        except FormatError as error:
            told = ("", "", "", "", "", "", "{}", error.reason or error.message)
        values = (name, size, changed, *told)
        marks = ", ".join("?" * len(values))
        self._base.execute(f"insert or replace into receipts values ({marks})", values)  # noqa: S608


def _told(receipt: Receipt) -> tuple[str, ...]:
    inputs = msgspec.json.encode(receipt.inputs).decode()
    report = msgspec.json.decode(receipt.report)
    summary = str(report.get("summary", "")) if isinstance(report, dict) else ""
    about = _subject(report) if isinstance(report, dict) else ""
    verdict = receipt.verdict.value
    return receipt.hash, receipt.command, receipt.created_at, verdict, summary, about, inputs


def _subject(report: dict[str, Any]) -> str:
    """The deployment's name; else those of what was looked at, without their versions."""
    result = report.get("result")
    deployment = result.get("deployment") if isinstance(result, dict) else None
    if isinstance(deployment, dict) and deployment.get("name"):
        return str(deployment["name"])
    subjects = report.get("subjects")
    named = [
        str(item.get("name") or item.get("ref") or "")
        for item in (subjects if isinstance(subjects, list) else ())
        if isinstance(item, dict)
    ]
    return ", ".join(dict.fromkeys(filter(None, named)))
