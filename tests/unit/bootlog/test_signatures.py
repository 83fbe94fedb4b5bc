"""The catalogue: complete, matching its examples, sparing its neighbours and the healthy."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.unit.bootlog.conftest import LOGS, DiagnoseText, read_file

from sparkproof.bootlog.diagnosis import diagnose
from sparkproof.core.errors import FormatError
from sparkproof.core.results.log import Diagnosis
from sparkproof.facts.book import rules, signatures
from sparkproof.facts.log_book import log_lines
from sparkproof.facts.log_schema import LogLine, Signature
from sparkproof.formats.vllm_log.headers import parse_line

ALL = signatures()
FAILURES: list[dict[str, Any]] = json.loads((LOGS / "recorded-failures.json").read_text())[
    "records"
]
COLLECTED: list[dict[str, Any]] = json.loads((LOGS / "collected-failures.json").read_text())[
    "records"
]
_DIGITS = {ord(digit): None for digit in "0123456789"}
# Classes of which no log line tells: they are judged from answers, clients, or not at all.
_WITHOUT_A_LINE = {
    "benchmark_counts_chunks",
    "wrong_tool_parser",
    "reasoning_budget",
    "sm120_cubins_on_sm121",
    "container_model_mismatch",
    "quantized_lm_head_garbage",
    "sparse_mla_livelock",
    "post_ready_growth",
    "kv_negative_after_recipe_change",
    "spec_decode_scheduler_ima",
}


def _shown(diagnosis: Diagnosis) -> list[str]:
    first = [diagnosis.cause] if diagnosis.cause else []
    return [c.signature for c in (*first, *diagnosis.rivals, *diagnosis.kinds)]


@pytest.mark.parametrize("item", ALL.values(), ids=ALL)
def test_examples_match_first_and_neighbours_never(
    item: Signature, diagnose_text: DiagnoseText
) -> None:
    assert item.examples
    assert item.neighbours
    for example in item.examples:
        assert _shown(diagnose_text(example.text))[:1] == [item.id], example.text
    for neighbour in item.neighbours:
        try:
            shown = _shown(diagnose_text(neighbour.text))
        except FormatError:
            shown = []
        assert item.id not in shown, neighbour.text


@pytest.mark.parametrize("item", ALL.values(), ids=ALL)
def test_a_signature_is_complete(item: Signature) -> None:
    assert item.cause
    assert item.remedy
    assert item.sources
    assert item.names_cause or item.keep
    assert set(item.over) <= set(ALL) - {item.id}
    assert item.id not in rules()
    for phrase in (p for clause in item.clauses for p in clause.any):
        re.compile(phrase.match)
        assert len(phrase.has.translate(_DIGITS)) >= 3, phrase.has


def test_every_recorded_class_has_a_page() -> None:
    known = {item.failure_class for item in ALL.values()}
    assert {f["failure_class"] for f in FAILURES} - known <= _WITHOUT_A_LINE


@pytest.mark.parametrize("record", FAILURES, ids=lambda r: str(r["id"]))
def test_no_recorded_failure_gets_a_wrong_cause(
    record: dict[str, Any], diagnose_text: DiagnoseText
) -> None:
    if not record.get("log_fragment"):
        return
    try:
        cause = diagnose_text("\n".join(record["log_fragment"])).cause
    except FormatError:
        return
    assert cause is None or cause.failure_class == record["failure_class"]


@pytest.mark.parametrize("record", COLLECTED, ids=lambda r: str(r["id"]))
def test_a_collected_failure_keeps_its_diagnosis(
    record: dict[str, Any], diagnose_text: DiagnoseText
) -> None:
    try:
        diagnosis = diagnose_text("\n".join(record["log_fragment"]))
    except FormatError:
        assert not record["classes"]
        return
    named = [diagnosis.cause] if diagnosis.cause else []
    assert {c.failure_class for c in named} <= set(record["classes"])
    shown = {c.failure_class for c in (*named, *diagnosis.kinds)}
    assert not record["classes"] or shown & set(record["classes"]) or record["id"] == "llmd-273"


@pytest.mark.parametrize("wording", log_lines(), ids=lambda w: w.id)
def test_a_wording_matches_its_examples(wording: LogLine) -> None:
    assert wording.examples
    for example in wording.examples:
        message = parse_line(example.encode()).message
        assert wording.has in message
        assert re.search(wording.match, message), example


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("h200-0.26.0-shared-profiling-fails.log", "memory/profiling-assertion"),
        ("h200-0.26.0-moe-b12x-refused.log", "select/backend-refused"),
        ("h200-0.26.0-invalid-choice.log", "config/invalid-choice"),
        ("cpu-0.32.0-engine-dies.log", "packages/triton-absent"),
    ],
)
def test_real_failures(name: str, signature: str) -> None:
    cause = diagnose(read_file(name), ALL.values(), name).cause
    assert cause is not None
    assert cause.signature == signature
    assert cause.evidence[0].line > 0
