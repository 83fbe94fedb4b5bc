"""Metrics and answers of real servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.openai_answer import (
    Answer,
    ModelList,
    error_message,
    hidden_error,
    parse_as,
)
from sparkproof.formats.prometheus import parse_metrics, total
from sparkproof.formats.vllm_metrics import missing_names, read_counts

LIVE = Path(__file__).parents[2] / "data" / "live"


def test_the_counters_of_a_server_that_speculates() -> None:
    counts = read_counts((LIVE / "metrics-0.32.0-ngram.txt").read_bytes(), "x")
    assert counts.finished == 544
    assert counts.generated_tokens == 28976
    assert (counts.drafts, counts.drafted, counts.accepted) == (5538, 16612, 5784)
    assert counts.accepted_at == (2282, 1991, 1511)
    assert counts.cache["block_size"] == "32"
    assert counts.start_s == 1.79598467882e9
    assert missing_names(counts) == ()


@pytest.mark.parametrize("name", ["metrics-0.27.1-ngram.txt", "metrics-h200-0.26.0-dense.txt"])
def test_other_releases_have_every_name_too(name: str) -> None:
    assert missing_names(read_counts((LIVE / name).read_bytes(), name)) == ()


def test_a_proxy_without_metrics_says_what_is_missing() -> None:
    counts = read_counts(b"# TYPE up gauge\nup 1\n", "x")
    assert "vllm:request_success_total" in missing_names(counts)


def test_a_sum_over_engines_and_nothing_from_nothing() -> None:
    text = (
        b'# TYPE a counter\na_total{engine="0"} 2\na_total{engine="1"} 3\na_total{engine="2"} NaN\n'
    )
    samples = parse_metrics(text, "x")
    assert total(samples, "a_total") == 5
    assert total(samples, "a_total", engine="1") == 3
    assert total(samples, "b_total") is None


@pytest.mark.parametrize("text", [b"a{b 1\n", b"a one\n", b'a{b="c} 1\n'])
def test_what_is_no_metrics(text: bytes) -> None:
    with pytest.raises(FormatError):
        parse_metrics(text, "x")


def test_answers_of_odd_shapes() -> None:
    with pytest.raises(FormatError):
        parse_as(ModelList, b"<html>", "x")
    with pytest.raises(FormatError):
        parse_as(Answer, b"[" * 5000, "x")
    assert error_message(b'{"error": {"message": "no"}}') == "no"
    assert error_message(b'{"detail": "Not Found"}') == "Not Found"
    assert error_message(b'{"error": "bad"}') == "bad"
    assert error_message(b"<h1>Bad Gateway</h1>\nmore") == "<h1>Bad Gateway</h1>"
    assert error_message(b"") == ""


def test_what_can_be_no_count_is_none() -> None:
    """Sums and differences of such numbers would be no numbers, which no record can hold."""
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    text = "".join(
        f'vllm:num_requests_running{{engine="{n}"}} {value}\n{name}{{position="{n}"}} {value}\n'
        for n, value in enumerate(("NaN", "+Inf", "1e308", "-1e308"))
    )
    counts = read_counts(text.encode(), "x")
    assert counts.running is None
    assert counts.accepted_at == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "upstream", "code": 503}}', "upstream"),
        (b'{"object": "error", "message": "no"}', "no"),
        (b'{"error": "down"}', "down"),
        (b'{"choices": [], "error": null}', ""),
        (b'{"object": "list", "data": []}', ""),
        (b'{"version": "1"}', ""),
        (b"<html>", ""),
        (b"[1]", ""),
    ],
)
def test_an_error_that_came_as_an_answer(body: bytes, said: str) -> None:
    assert hidden_error(body) == said
