"""What the table of an A/B run says of a speed."""

from __future__ import annotations

import pytest

from sparkproof.render.ab_text import spread_words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.26, 1.281, "1.26 to 1.28"),
        (0.37, 5.46, "0.37 to 5.46"),
        (0.0001, 4545.71, "too wide to say"),
        (0.0, 1.0, "too wide to say"),
    ],
)
def test_an_interval_is_told_as_far_as_it_says_anything(
    low: float, high: float, words: str
) -> None:
    assert spread_words(low, high) == words
