"""What the facts commands print, from the records."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden.conftest import Cli, Golden

from sparkproof.facts.claim_records import claim_records
from sparkproof.testing.vllm_source import source_tree


def test_a_claim_with_its_history(cli: Cli, golden: Golden) -> None:
    run = cli("facts", "show", "dense/b12x-flag-works")
    assert run.code == 0
    golden("show-claim.txt", run.out)


def test_a_flag_explained_with_its_claims(cli: Cli, golden: Golden) -> None:
    run = cli("explain", "--linear-backend")
    assert run.code == 0
    golden("explain-flag.txt", run.out)


def test_claims_that_the_newest_release_denies_come_first(cli: Cli) -> None:
    newest = list(claim_records())[-1]
    run = cli("facts", "verify", "--against", newest)
    assert run.code == 0
    assert run.out.index("published, and not true") < run.out.index("\nhold\n")
    document = json.loads(cli("facts", "verify", "--against", newest, "--json").out)
    answers = {row["claim"]["id"]: row for row in document["result"]["answers"]}
    assert answers["dense/b12x-not-automatic"]["answer"] == "does not hold"
    assert answers["moe/b12x-not-automatic"]["answer"] == "holds"
    assert answers["field/eager-37"]["answer"] == "cannot be told"
    assert {row["basis"] for row in answers.values()} == {"record", "surface"}


def test_a_version_without_a_record_is_not_mapped_to_a_neighbour(cli: Cli) -> None:
    run = cli("facts", "verify", "--against", "0.33.1.dev3")
    assert run.code == 2
    assert "a neighbour's would be a guess" in run.err


def test_a_claim_that_does_not_exist_names_near_ones(cli: Cli) -> None:
    run = cli("facts", "show", "moe/b12x-not-automatc")
    assert run.code == 2
    assert "moe/b12x-not-automatic" in run.err


def test_an_artifact_that_contradicts_the_book_fails(cli: Cli, tmp_path: Path) -> None:
    for name, data in source_tree().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    run = cli("facts", "verify", "--against", f"tree:{tmp_path}", "--json")
    document = json.loads(run.out)
    assert (run.code, document["verdict"]) == (1, "fail")
    finding = next(f for f in document["findings"] if f["subject"] == "moe/b12x-exists")
    assert finding["rule"] == "claims/contradicted"
    assert finding["evidence"][0]["line"] > 0


def test_lists_by_kind_and_by_what_they_are_about(cli: Cli) -> None:
    everything = json.loads(cli("facts", "list", "--json").out)["result"]["claims"]
    pins = json.loads(cli("facts", "list", "--kind", "bad-pin", "--json").out)["result"]["claims"]
    assert {row["kind"] for row in pins} == {"bad-pin"}
    b12x = json.loads(cli("facts", "list", "--about", "b12x", "--json").out)["result"]["claims"]
    assert 0 < len(b12x) < len(everything)
    stale = json.loads(cli("facts", "stale", "--json").out)["result"]
    assert "dense/b12x-not-automatic" in {row["claim"]["id"] for row in stale["outdated"]}
    matrix = json.loads(cli("facts", "matrix", "--json").out)["result"]
    assert all(len(row["answers"]) == len(matrix["releases"]) for row in matrix["rows"])
