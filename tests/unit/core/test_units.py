"""Numbers as people read them."""

from __future__ import annotations

import pytest

from sparkproof.core.units import format_bytes, plural


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (348_964_651, "333 MiB"),
        ((1 << 20) - 1, "1 MiB"),
        ((1 << 30) - 1, "1 GiB"),
        (1 << 30, "1 GiB"),
        (int(121.6 * (1 << 30)), "122 GiB"),
        (-2048, "-2 KiB"),
    ],
)
def test_bytes_in_three_digits(count: int, text: str) -> None:
    assert format_bytes(count) == text


def test_plurals() -> None:
    assert plural(1, "kernel") == "1 kernel"
    assert plural(0, "kernel") == "0 kernels"
    assert plural(1234, "kernel") == "1,234 kernels"
