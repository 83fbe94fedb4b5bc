"""Prometheus' text format: one scrape of ``/metrics`` to its samples."""

from __future__ import annotations

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from sparkproof.core.errors import FormatError

MAX_BYTES = 32 << 20
ABSURD = 1e18


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line: name as it stands there (``..._total``, ``..._bucket``), labels, value."""

    name: str
    labels: dict[str, str]
    value: float


def parse_metrics(data: bytes, where: str, prefix: str = "") -> tuple[Sample, ...]:
    """Read the samples whose name starts with `prefix`.

    Raises:
        FormatError: it is no such text, or too large.
    """
    if len(data) > MAX_BYTES:
        raise FormatError(f"larger than {MAX_BYTES} bytes", where=where)
    text = data.decode("utf-8", "replace")
    wanted = "\n".join(line for line in text.splitlines() if _about(line, prefix))
    try:
        return tuple(
            Sample(sample.name, dict(sample.labels), float(sample.value))
            for family in text_string_to_metric_families(wanted + "\n")
            for sample in family.samples
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise FormatError(f"no metrics in Prometheus' text format: {error}", where=where) from error


def _about(line: str, prefix: str) -> bool:
    if not line.startswith("#"):
        return line.startswith(prefix)
    words = line.split(None, 3)
    return len(words) > 2 and words[1] == "TYPE" and words[2].startswith(prefix)


def total(samples: tuple[Sample, ...], name: str, **labels: str) -> float | None:
    """Sum of the samples of that name over all engines; None where there is none, or none that
    could be a count: no number, or so large that sums and differences would be none.

    Args:
        labels: what must stand among their labels.
    """
    found = [
        sample.value
        for sample in samples
        if sample.name == name
        and abs(sample.value) < ABSURD
        and all(sample.labels.get(key) == value for key, value in labels.items())
    ]
    return sum(found) if found else None
