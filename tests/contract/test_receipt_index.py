"""The index says what the files say, whatever happens to it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from sparkproof.adapters.receipt_index import NAME, ReceiptIndex
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.receipt import Receipt
from sparkproof.core.refs import RefKind
from sparkproof.core.subject import Subject
from sparkproof.core.verdict import Verdict
from sparkproof.receipts.receipt import seal
from sparkproof.usecases.envelope import make_report


@pytest.fixture
def store(tmp_path: Path) -> ReceiptStore:
    made = ReceiptStore(tmp_path / "receipts")
    for command in ("bench", "smoke", "bench"):
        add(made, command)
    return made


def add(
    store: ReceiptStore, command: str, result: object = None, subjects: tuple[Subject, ...] = ()
) -> None:
    report = make_report(
        command, result, verdict=Verdict.PASS, summary=f"a {command}", subjects=subjects
    )

    def sealed(previous: str) -> Receipt:
        return seal(report, inputs={}, previous=previous)

    store.append(sealed)


def commands(store: ReceiptStore, only: str = "") -> list[str]:
    with ReceiptIndex(store) as index:
        rows, _ = index.rows(only)
    return [row.command for row in rows]


def test_it_lists_in_order_and_by_command(store: ReceiptStore) -> None:
    assert commands(store) == ["bench", "smoke", "bench"]
    assert commands(store, "bench") == ["bench", "bench"]
    add(store, "why")
    assert commands(store)[-1] == "why"


def test_a_file_whose_name_is_no_text_is_no_receipt(store: ReceiptStore) -> None:
    (store.folder / os.fsdecode(b"000002-prove-\xff.json")).write_text("{}")
    (store.folder / "000003-prove-\u0661.json").write_text("{}")
    assert commands(store) == ["bench", "smoke", "bench"]
    add(store, "why")
    assert commands(store)[-1] == "why"
    assert len(list(store.read_all())) == 4


@pytest.mark.parametrize("damage", ["delete", "garbage", "other", "version"])
def test_it_is_rebuilt_whatever_became_of_it(store: ReceiptStore, damage: str) -> None:
    before = commands(store)
    path = store.folder / NAME
    path.unlink()
    if damage == "garbage":
        path.write_bytes(b"no database" * 99)
    elif damage == "other":
        with sqlite3.connect(path) as base:
            base.execute("create table receipts (x)")
        base.close()
    elif damage == "version":
        with sqlite3.connect(path) as base:
            base.execute("pragma user_version = 99")
        base.close()
    assert commands(store) == before


def test_an_edited_and_a_removed_file_are_noticed(store: ReceiptStore) -> None:
    commands(store)
    first, second, _ = store.files()
    first.write_text("{")
    second.unlink()
    with ReceiptIndex(store) as index:
        rows, broken = index.rows()
    assert [row.command for row in rows] == ["bench"]
    assert [error.where for error in broken] == [first.name]


def test_no_store_is_an_empty_one_and_none_is_made(tmp_path: Path) -> None:
    nowhere = ReceiptStore(tmp_path / "none")
    assert commands(nowhere) == []
    assert not nowhere.folder.exists()


def test_the_chain_does_not_mind_the_index(store: ReceiptStore) -> None:
    commands(store)
    assert len(list(store.read_all())) == 3


def test_it_says_what_each_receipt_is_of(tmp_path: Path) -> None:
    made = ReceiptStore(tmp_path / "receipts")
    looked_at = Subject(kind=RefKind.CHECKPOINT, ref="./q", identity="metadata:0", name="q")
    add(made, "prove", {"deployment": {"name": "chat"}}, (looked_at,))
    add(made, "prove", {"deployment": 7}, (looked_at, looked_at))
    add(made, "prove")
    with ReceiptIndex(made) as index:
        rows, broken = index.rows()
    assert [row.subject for row in rows] == ["chat", "q", ""]
    assert broken == ()
