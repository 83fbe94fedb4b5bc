"""Images and videos that are taken in whole: whether the largest fits into a batch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.memory.boots import DATA

from sparkproof.core.finding import Severity
from sparkproof.facts.surfaces import load_surface
from sparkproof.memory.item_budget import RULE, ItemArgs, ItemCase, judge_items
from sparkproof.release.serve_line import parse_serve_line
from sparkproof.usecases.fit.items import read_item_args


def config_of(name: str, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "configs" / f"{name}.json").read_bytes())
    return {**found, **changes}


def case(
    *words: str, batch: int = 2048, versions: tuple[str, ...] = ("0.33.0",), **changes: Any
) -> ItemCase:
    line = parse_serve_line(load_surface("0.33.0"), ("MODEL", *words))
    args = read_item_args(line, words, forced=True)
    return ItemCase(config_of("gemma-4-31b", **changes), args, batch, versions)


def test_a_video_above_the_batch_ends_the_start() -> None:
    (found,), unknowns = judge_items(case())
    assert (found.rule, found.severity, found.subject) == (RULE, Severity.ERROR, "video")
    assert "2,496 tokens" in found.message
    assert "2,048" in found.message
    assert "--max-num-batched-tokens 2496" in found.remedy
    assert '{"video": 0}' in found.remedy
    assert not unknowns


@pytest.mark.parametrize(
    ("words", "batch"),
    [
        ((), 2496),
        (("--limit-mm-per-prompt", '{"video": 0}'), 2048),
        (("--limit-mm-per-prompt", '{"video": {"count": 0}}'), 2048),
        (("--limit-mm-per-prompt", '{"video": {"count": 1, "num_frames": 26}}'), 2048),
        (("--language-model-only",), 64),
    ],
)
def test_what_fits_or_is_left_out_says_nothing(words: tuple[str, ...], batch: int) -> None:
    assert judge_items(case(*words, batch=batch)) == ((), ())


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        (("--limit-mm-per-prompt", '{"video": 0}'), "image"),
        (("--limit-mm-per-prompt", '{"video": 0}', "--enable-mm-embeds"), "video"),
        (("--limit-mm-per-prompt", '{"image": 0, "video": {"num_frames": 8}}'), "video"),
    ],
)
def test_the_largest_that_may_come_counts(words: tuple[str, ...], subject: str) -> None:
    (found,), _ = judge_items(case(*words, batch=256))
    assert found.subject == subject


def test_a_setting_of_the_processor_replaces_the_config_s_tokens() -> None:
    words = ("--limit-mm-per-prompt.video", "0", "--mm-processor-kwargs.max_soft_tokens", "1120")
    (found,), _ = judge_items(case(*words, batch=1024))
    assert "1,120 tokens" in found.message
    assert judge_items(case(*words, batch=1024, versions=("0.20.0",))) == ((), ())


def test_a_model_that_looks_one_way_may_have_its_items_cut() -> None:
    small = config_of("gemma-4-e4b")
    assert judge_items(ItemCase(small, ItemArgs(), 64, ("0.33.0",))) == ((), ())
    (found,), _ = judge_items(ItemCase(small, ItemArgs(whole=True), 64, ("0.33.0",)))
    assert found.rule == RULE


def test_a_release_or_platform_without_it_says_nothing() -> None:
    assert judge_items(case(versions=("0.19.1",))) == ((), ())
    on_cpu = read_item_args(None, (), forced=False)
    assert judge_items(ItemCase(config_of("gemma-4-31b"), on_cpu, 64, ("0.33.0",))) == ((), ())


def test_what_can_not_be_told_is_unknown() -> None:
    assert len(judge_items(case(versions=("0.19.1", "0.20.0")))[1]) == 1
    unread = read_item_args(None, ("--limit-mm-per-prompt", "{}"), forced=True)
    config = config_of("gemma-4-31b")
    (told,) = judge_items(ItemCase(config, unread, 2048, ("0.33.0",)))[1]
    assert "2,048" in told.why
    other = config_of("gemma-4-31b", architectures=["Other"])
    assert judge_items(ItemCase(other, ItemArgs(), 2048, ("0.33.0",)))[1]
    heard = case(batch=4096, audio_config={})
    assert "audio" in judge_items(heard)[1][0].why
