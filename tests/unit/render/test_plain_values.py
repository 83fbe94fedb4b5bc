"""Values of a log are written as a person would write them."""

from __future__ import annotations

import pytest

from sparkproof.render.plain_values import name_and_value, plain_default, plain_value


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("True", "yes"),
        ("None", "none"),
        ("['m']", "m"),
        ("{'method': 'mtp', 'num_speculative_tokens': 3}", "method mtp, num_speculative_tokens 3"),
        ("'fp8'", "fp8"),
        ("[]", "none"),
        ("Triton", "Triton"),
        ("/models/x", "/models/x"),
        ("[" * 900, "[" * 900),
        ("{'a': object()}", "{'a': object()}"),
        ("", ""),
    ],
)
def test_python_spelling_goes(text: str, plain: str) -> None:
    assert plain_value(text) == plain


def test_units_stand_behind_numbers() -> None:
    assert name_and_value("load_model_s", 1.118044) == ("load model", "1.12 s")
    assert name_and_value("kv_available_gib", 127.19) == ("kv available", "127.19 GiB")
    assert name_and_value("max_concurrency_x", 508.77) == ("max concurrency", "508.77x")
    assert name_and_value("kv_tokens", 4167824) == ("kv tokens", "4,167,824")
    assert name_and_value("kv_suggested_bytes", 1 << 30) == (
        "kv suggested",
        "1,073,741,824 bytes, 1 GiB",
    )
    assert name_and_value("utilization", 0.9184) == ("utilization", "0.9184")
    assert name_and_value("world_size", 1) == ("world size", "1")


def test_a_default_is_shown_as_it_would_be_typed() -> None:
    assert plain_default("auto") == "auto"
    assert plain_default("") == '""'
    assert plain_default(None) == "none"
    assert plain_default([1, 2]) == "1, 2"
