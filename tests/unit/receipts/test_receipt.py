"""Sealing, and finding out what was changed afterwards."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.core.errors import FormatError
from sparkproof.core.receipt import Receipt, content_hash
from sparkproof.core.report import Report, schema_name
from sparkproof.core.verdict import Verdict
from sparkproof.formats.receipt_json import parse_receipt
from sparkproof.receipts.receipt import Trouble, seal, verify_chain, verify_one


def report(summary: str = "delivered as sm_120f") -> Report[object]:
    return Report(
        schema=schema_name("prove"),
        command="prove",
        tool_version="0.1.0",
        generated_at="2026-11-29T12:00:00Z",
        verdict=Verdict.PASS,
        summary=summary,
        next_steps=("export HF_TOKEN=hf_" + "a1B2" * 8, "ls /home/alice"),
        receipt="sha256:of-another",
    )


def chain(count: int) -> list[tuple[str, Receipt]]:
    receipts: list[tuple[str, Receipt]] = []
    previous = ""
    for number in range(count):
        receipt = seal(report(f"run {number}"), inputs={"artifact": "sha256:a"}, previous=previous)
        receipts.append((f"{number}.json", receipt))
        previous = receipt.hash
    return receipts


def troubles(receipts: list[tuple[str, Receipt]], head: str, noted: str = "") -> list[Trouble]:
    return [p.trouble for p in verify_chain(receipts, recorded_head=head, noted_head=noted)]


def test_a_sealed_receipt_holds() -> None:
    receipt = seal(report(), inputs={"b": "2", "a": "1"}, previous="", parents=("sha256:p",))
    assert receipt.hash == content_hash(receipt)
    assert list(receipt.inputs) == ["a", "b"]
    assert verify_one(receipt, "x") == ()


def test_no_secret_and_no_home_gets_into_a_receipt() -> None:
    text = msgspec.json.encode(seal(report(), inputs={}, previous="")).decode()
    assert "a1B2" not in text
    assert "alice" not in text


def test_a_home_in_an_unusual_place_is_taken_out_too() -> None:
    given = msgspec.structs.replace(report("/export/bob/x and /export/bobby"), next_steps=())
    text = msgspec.json.encode(seal(given, inputs={}, previous="", homes=("/export/bob/", "/")))
    assert b'"~/x and /export/bobby"' in text


def test_the_report_inside_names_no_other_receipt() -> None:
    sealed = msgspec.json.decode(seal(report(), inputs={}, previous="").report)
    assert sealed["receipt"] == ""


def test_layout_and_key_order_do_not_matter() -> None:
    receipt = seal(report(), inputs={}, previous="")
    plain = msgspec.json.decode(msgspec.json.encode(receipt))
    shuffled = dict(reversed(plain.items()))
    shuffled["report"] = dict(reversed(plain["report"].items()))
    text = msgspec.json.format(msgspec.json.encode(shuffled), indent=4)
    assert verify_one(parse_receipt(text, "x"), "x") == ()


@pytest.mark.parametrize("field", [f for f in Receipt.__struct_fields__ if f != "schema"])
def test_an_edit_of_any_field_is_found(field: str) -> None:
    receipt = seal(report(), inputs={"a": "1"}, previous="sha256:p", parents=("sha256:q",))
    edits: dict[str, object] = {
        "inputs": {"a": "2"},
        "parents": (),
        "verdict": Verdict.FAIL,
        "report": msgspec.Raw(b'{"summary": "other"}'),
    }
    edited = msgspec.structs.replace(receipt, **{field: edits.get(field, "sha256:other")})
    assert [p.trouble for p in verify_one(edited, "x")] == [Trouble.EDITED]


def test_a_key_that_stands_twice_is_no_receipt() -> None:
    data = msgspec.json.encode(seal(report(), inputs={}, previous=""))
    forged = data.replace(b'"summary":', b'"summary":"forged","summary":')
    with pytest.raises(FormatError, match="`summary` stands twice"):
        parse_receipt(forged, "x")


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b'"\xff"', b"[" * 100_000, b'{"schema": "x"}', b"1" * 5000],
)
def test_other_bytes_are_no_receipt(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_receipt(data, "x.json")


def test_another_schema_is_named() -> None:
    receipt = msgspec.structs.replace(seal(report(), inputs={}, previous=""), schema="other/2")
    with pytest.raises(FormatError, match="`other/2`"):
        parse_receipt(msgspec.json.encode(receipt), "x")


def test_a_whole_chain_holds() -> None:
    receipts = chain(3)
    assert troubles(receipts, receipts[-1][1].hash, receipts[1][1].hash) == []
    assert troubles([], "") == []


def test_a_removed_receipt_breaks_its_link() -> None:
    receipts = chain(3)
    head = receipts[-1][1].hash
    assert troubles(receipts[1:], head) == [Trouble.BROKEN_LINK]
    assert troubles([receipts[0], receipts[2]], head) == [Trouble.BROKEN_LINK]
    assert troubles(receipts[:2], head) == [Trouble.HEAD_BEHIND]
    assert troubles([], head) == [Trouble.HEAD_BEHIND]


def test_swapped_receipts_break_their_links() -> None:
    receipts = chain(3)
    swapped = [receipts[1], receipts[0], receipts[2]]
    assert set(troubles(swapped, receipts[-1][1].hash)) == {Trouble.BROKEN_LINK}


def test_a_replaced_chain_is_found_against_a_noted_head() -> None:
    noted = chain(3)[-1][1].hash
    forged: list[tuple[str, Receipt]] = []
    for number in range(3):
        previous = forged[-1][1].hash if forged else ""
        forged.append((f"{number}.json", seal(report("rosy"), inputs={}, previous=previous)))
    head = forged[-1][1].hash
    assert troubles(forged, head) == []
    assert troubles(forged, head, noted) == [Trouble.HEAD_MISSING]
    assert troubles([], "", noted) == [Trouble.HEAD_MISSING]


def test_a_receipt_without_canonical_form_counts_as_edited() -> None:
    receipt = seal(report(), inputs={}, previous="")
    odd = msgspec.structs.replace(receipt, report=msgspec.Raw(b'{"x": 1e999}'))
    assert [p.trouble for p in verify_one(odd, "x")] == [Trouble.EDITED]
    with pytest.raises(FormatError, match="out of range"):
        parse_receipt(msgspec.json.encode(odd), "x")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            ("backend", "model_id", "num_prompts", "duration", "completed", "mean_ttft_ms"),
            "a result of vllm bench, not a receipt",
        ),
        (("schema", "verdict", "summary"), "a report, not a receipt"),
        (("a", "b"), "no receipt"),
    ],
)
def test_what_holds_figures_and_is_no_receipt(fields: tuple[str, ...], told: str) -> None:
    data = msgspec.json.encode(dict.fromkeys(fields, 1))
    with pytest.raises(FormatError, match=told):
        parse_receipt(data, "x.json")
