"""Whole argument lists against what a release checks of them, on shipped surfaces."""

from __future__ import annotations

from functools import cache

import pytest

from sparkproof.core.finding import Finding, Severity
from sparkproof.facts.book import rules
from sparkproof.facts.line_rules import LineRule, line_rules
from sparkproof.facts.surfaces import load_messages, load_surface
from sparkproof.release.line_judge import NOTHING_KNOWN, Surroundings, judge_line
from sparkproof.release.serve_line import parse_serve_line

SMALL = Surroundings(longest=4096, length=4096, heads=32, gpus=1)
RULES = pytest.mark.parametrize("rule", line_rules().rules, ids=lambda rule: rule.id)


surface_of = cache(load_surface)


def judged(text: str, version: str = "0.33.0", beside: Surroundings = SMALL) -> tuple[Finding, ...]:
    surface = surface_of(version)
    return judge_line(surface, parse_serve_line(surface, ("MODEL", *text.split())), beside)


@RULES
def test_a_rule_fires_on_its_example_alone_and_cites_the_release(rule: LineRule) -> None:
    found = [item for item in judged(rule.example) if item.subject == rule.flag]
    assert [(item.rule, item.severity) for item in found] == [(rule.rule, rule.severity)]
    assert rule.says in found[0].evidence[0].what
    assert found[0].evidence[0].line
    assert "{" not in found[0].message + found[0].remedy
    assert judged(rule.neighbour) == ()
    assert rule.rule in rules()


def test_every_wording_is_some_releases_and_a_release_without_it_does_not_have_the_check() -> None:
    wording = {version: load_messages(version) for version in ("0.20.0", "0.33.0")}
    oldest, newest = ({m.text for m in messages} for messages in wording.values())
    late = [rule for rule in line_rules().rules if not any(rule.says in text for text in oldest)]
    assert late
    assert all(any(rule.says in text for text in newest) for rule in line_rules().rules)
    for rule in late:
        assert not any(item.subject == rule.flag for item in judged(rule.example, "0.20.0"))


@pytest.mark.parametrize(
    ("text", "version", "outside"),
    [
        ("--gpu-memory-utilization 90", "0.33.0", ["--gpu-memory-utilization"]),
        ("--gpu-memory-utilization 0", "0.20.0", ["--gpu-memory-utilization"]),
        ("--gpu-memory-utilization 1", "0.33.0", []),
        ("--max-num-seqs 0", "0.20.0", ["--max-num-seqs"]),
        ("--max-model-len=-5", "0.33.0", ["--max-model-len"]),
        ("--max-model-len auto", "0.33.0", []),
        ("--max-num-scheduled-tokens 0", "0.32.0", ["--max-num-scheduled-tokens"]),
        ("--max-num-scheduled-tokens 0", "0.31.0", []),
        ("--block-size 0", "0.22.1", []),
        ("--block-size 0", "0.23.0", ["--block-size"]),
    ],
)
def test_bounds_are_those_of_the_release(text: str, version: str, outside: list[str]) -> None:
    found = judged(text, version)
    assert [item.subject for item in found if item.rule == "release/out-of-range"] == outside


def test_every_range_speaks_of_a_number_that_some_release_takes() -> None:
    surfaces = [surface_of(version) for version in ("0.20.0", "0.26.0", "0.33.0")]
    for item in line_rules().ranges:
        found = [option for s in surfaces if (option := s.option(item.flag))]
        assert found, item.flag
        assert all(option.value in ("int", "size", "length", "float") for option in found)


def test_what_is_not_known_is_held_against_nobody() -> None:
    assert judged("--max-model-len 1M -tp 3", beside=NOTHING_KNOWN) == ()
    assert (
        judged("--no-enable-chunked-prefill --max-num-batched-tokens 9", beside=NOTHING_KNOWN) == ()
    )


def test_the_variable_that_allows_a_longer_context_is_heard() -> None:
    name = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
    allowed = Surroundings(longest=4096, env={name: "1"})
    assert judged("--max-model-len 8192", beside=allowed) == ()
    (found,) = judged("--max-model-len 8192", beside=Surroundings(longest=4096, env={name: "0"}))
    assert "4096 tokens" in found.message
    assert found.severity is Severity.ERROR


def test_a_plugin_may_bring_the_parser() -> None:
    named = "--reasoning-parser mine"
    assert judged(named)
    assert judged(f"{named} --reasoning-parser-plugin /plugins/mine.py") == ()
