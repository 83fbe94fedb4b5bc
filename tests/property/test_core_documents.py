"""Deployments and receipts: any bytes end in a value or one error, quickly."""

from __future__ import annotations

import time

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sparkproof.core.errors import FormatError
from sparkproof.core.report import Report
from sparkproof.core.verdict import Verdict
from sparkproof.formats.receipt_json import parse_receipt
from sparkproof.receipts.receipt import seal, verify_one
from sparkproof.recipe.deployment_toml import parse_deployment

DEPLOYMENT = b"""
schema = 1
checkpoint = "ckpt"
artifact = "vllm==0.33.0"
args = ["--kv-cache-dtype", "fp8"]
[env]
A = "1"
[box]
nvcc = true
total_memory_gib = 121.6
"""
_REPORT: Report[object] = Report(
    schema="sparkproof/prove/1",
    command="prove",
    tool_version="0.1.0",
    generated_at="2026-11-29T12:00:00Z",
    verdict=Verdict.PASS,
    summary="fine",
)
RECEIPT = msgspec.json.encode(
    seal(_REPORT, inputs={"artifact": "sha256:0"}, previous="", parents=("sha256:1",))
)

edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 1), st.binary(max_size=3)), min_size=1, max_size=4
)


def _edited(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for place, dropped, new in changes:
        at = int(place * len(data))
        data = data[:at] + new + data[at + dropped :]
    return data


def _place_of_trouble(data: bytes) -> str:
    try:
        parse_deployment(data, "d.toml")
    except FormatError as error:
        return error.where
    return ""


@given(edits)
def test_any_edit_of_a_deployment_gives_a_value_or_one_error(
    changes: list[tuple[float, int, bytes]],
) -> None:
    data = _edited(DEPLOYMENT, changes)
    started = time.process_time()
    assert _place_of_trouble(data) in ("", "d.toml")
    assert time.process_time() - started < 1


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_give_a_deployment_or_one_error(data: bytes) -> None:
    assert _place_of_trouble(data) in ("", "d.toml")


@given(edits)
def test_any_edit_of_a_receipt_is_found(changes: list[tuple[float, int, bytes]]) -> None:
    data = _edited(RECEIPT, changes)
    try:
        receipt = parse_receipt(data, "r.json")
    except FormatError:
        return
    same = msgspec.json.decode(data) == msgspec.json.decode(RECEIPT)
    assert (verify_one(receipt, "r.json") == ()) is same


@given(st.integers(0, len(RECEIPT) - 1), st.integers(0, 7))
def test_any_flipped_bit_of_a_receipt_is_found(at: int, bit: int) -> None:
    data = bytearray(RECEIPT)
    data[at] ^= 1 << bit
    try:
        receipt = parse_receipt(bytes(data), "r.json")
    except FormatError:
        return
    same = msgspec.json.decode(bytes(data)) == msgspec.json.decode(RECEIPT)
    assert (verify_one(receipt, "r.json") == ()) is same
