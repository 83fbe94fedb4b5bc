"""What the frame's own commands print: help, explain, receipts, errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sparkproof.adapters.store import ReceiptStore, default_folder
from sparkproof.core.report import Report, schema_name
from sparkproof.core.verdict import Verdict
from sparkproof.receipts.receipt import seal

Cli = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def _short_names(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The store by a name that is equally long everywhere: lines fold by their length."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKPROOF_DATA", "data")


@pytest.fixture
def store(cli: Cli) -> ReceiptStore:
    store = ReceiptStore(default_folder())
    for summary in ("runs on gb10", "no kernel for gb10"):
        report: Report[object] = Report(
            schema=schema_name("prove"),
            command="prove",
            tool_version="0.1.0",
            generated_at="2026-11-29T12:00:00Z",
            verdict=Verdict.PASS if "runs" in summary else Verdict.FAIL,
            summary=summary,
        )
        store.append(lambda p, r=report: seal(r, inputs={"artifact": "sha256:0"}, previous=p))  # type: ignore[misc]
    return store


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("explain-device", ("explain", "gb10"), 0),
        ("explain-rule", ("explain", "deliver/ptx-jit"), 0),
        ("explain-word", ("explain", "sm_120f"), 0),
        ("receipt-list", ("receipt", "list"), 0),
        ("receipt-show", ("receipt", "show", "1"), 0),
        ("receipt-verify", ("receipt", "verify"), 0),
    ],
)
@pytest.mark.usefixtures("store")
def test_an_answer(
    cli: Cli, golden: Golden, name: str, arguments: tuple[str, ...], code: int
) -> None:
    run = cli(*arguments)
    assert (run[0], run[2]) == (code, "")
    golden(f"{name}.txt", run[1])
    run = cli(*arguments, "--json")
    assert (run[0], run[2]) == (code, "")
    golden(f"{name}.json", run[1])


def test_an_edited_receipt(cli: Cli, golden: Golden, store: ReceiptStore) -> None:
    path = next(store.folder.glob("000001-*.json"))
    path.write_bytes(path.read_bytes().replace(b"runs on gb10", b"runs on h100"))
    run = cli("receipt", "verify")
    assert (run[0], run[2]) == (1, "")
    golden("receipt-verify-edited.txt", run[1])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("error-no-command", ("frobnicate",)),
        ("error-no-option", ("receipt", "list", "--frobnicate")),
        ("error-no-topic", ("explain", "sm_120g")),
        ("error-no-receipt", ("receipt", "show", "7")),
        ("error-no-verb", ("receipt", "frobnicate")),
        ("error-near-command", ("prve", "x")),
        ("error-near-verb", ("receipt", "lst")),
        ("error-near-option", ("prove", "x", "--artfact", "vllm==0.33.0")),
        ("error-option-of-vllm", ("prove", "x", "--max-model-len", "65536")),
    ],
)
def test_a_wrong_use(cli: Cli, golden: Golden, name: str, arguments: tuple[str, ...]) -> None:
    run = cli(*arguments)
    assert (run[0], run[1]) == (2, "")
    golden(f"{name}.txt", run[2])
    code, out, _ = cli(*arguments, "--json")
    document = msgspec.json.decode(out)
    assert (code, document["verdict"], document["error"]["code"]) == (2, "error", "usage")
