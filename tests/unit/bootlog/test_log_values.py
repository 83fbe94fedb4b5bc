"""Printed numbers: what no float holds stays text."""

from __future__ import annotations

import pytest

from sparkproof.formats.vllm_log.values import parse_value


@pytest.mark.parametrize("name", ["model_len", "kv_gib"])
def test_a_number_of_absurd_length_stays_text(name: str) -> None:
    digits = "9" * 3000
    assert parse_value(name, digits) == digits


def test_numbers_are_numbers() -> None:
    assert parse_value("kv_tokens", "262,144") == 262144
    assert parse_value("kv_gib", "10.25") == 10.25
