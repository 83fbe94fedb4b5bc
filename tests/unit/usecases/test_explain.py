"""What `explain` says of flags, variables and words: since when, until when, what instead."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.core.results.explain import Page
from sparkproof.usecases.explain.command import explain


def pages(topic: str) -> tuple[Page, ...]:
    result = explain(topic).result
    assert result is not None
    return result.pages


def test_a_flag_with_its_default_its_values_and_since_when() -> None:
    page = next(item for item in pages("--moe-backend") if "in vllm 0.33.0" in item.title)
    rows = dict(page.rows)
    assert "in every release from 0.20.0" in page.title
    assert rows["default"] == "'auto'"
    assert "flashinfer_b12x" in rows["values"]
    assert rows["since 0.22.0"] == "flashinfer_b12x"
    assert "in vllm 0.33.0, since 0.22.0" in pages("--linear-backend")[1].title


@pytest.mark.parametrize(
    ("topic", "gone", "said"),
    [
        ("VLLM_NVFP4_GEMM_BACKEND", "0.24.0", "Use --linear-backend"),
        ("--calculate-kv-scales", "0.28.0", "is deprecated"),
    ],
)
def test_what_is_gone_says_since_when_and_what_to_use(topic: str, gone: str, said: str) -> None:
    first = pages(topic)[0]
    assert first.title.startswith(f"gone since {gone}")
    assert said in dict(first.rows)["deprecated"]


def test_a_claim_that_no_longer_holds_says_what_does() -> None:
    claims = dict(pages("VLLM_NVFP4_GEMM_BACKEND")[-1].rows)
    assert claims["env/unknown-is-silent"].startswith("Every release read warns about it")
    assert not any(text.startswith("not true") for text in claims.values())
    (said,) = dict(pages("bitsandbytes")[-1].rows).values()
    assert said.startswith("true of <0.28.0 alone, not of 0.33.0")


@pytest.mark.parametrize(
    ("word", "flag", "life"),
    [
        ("modelopt", "--quantization modelopt", "in every release"),
        ("bitsandbytes", "--quantization bitsandbytes", "gone since 0.28.0"),
    ],
)
def test_a_word_that_flags_take(word: str, flag: str, life: str) -> None:
    page = pages(word)[0]
    assert page.kind == "value of a flag"
    assert dict(page.rows)[flag].startswith(life)


def test_a_word_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match="nothing is known"):
        explain("quux-of-nothing")


def test_a_question_to_the_outside_is_known_as_it_is_printed() -> None:
    (page,) = pages("has_nvidia_artifactory()")
    assert "--package flashinfer-cubin=VERSION" in page.body[0]
    assert pages("has_nvidia_artifactory") == (page,)


def test_a_remedy_says_what_it_helps_against_and_the_record_names_its_threads() -> None:
    variable, helps = pages("VLLM_USE_DEEP_GEMM")
    assert variable.kind == "environment variable"
    assert "fails" in dict(helps.rows)["fp8/deepgemm-12x"]
    (record,) = pages("fp8/deepgemm-12x")
    assert any("vllm-project/vllm#" in said for _, said in record.rows)


@pytest.mark.parametrize(
    "word", ["shown", "skipped", "non-torch", "first long prefill", "native", "family"]
)
def test_words_of_the_output_are_in_the_glossary(word: str) -> None:
    assert pages(word)[0].kind == "word"
