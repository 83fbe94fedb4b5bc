"""Fill in the parts of a report that every use case fills in alike."""

from __future__ import annotations

from typing import Any, TypeVar

from sparkproof import __version__
from sparkproof.adapters.clock import SystemClock, timestamp
from sparkproof.core.ports import Clock
from sparkproof.core.report import Report, schema_name
from sparkproof.core.verdict import Verdict

T = TypeVar("T")


def make_report(
    command: str,
    result: T,
    *,
    verdict: Verdict,
    summary: str,
    clock: Clock | None = None,
    **parts: Any,
) -> Report[T]:
    """A report of `command`, dated now; `parts` are further fields of the envelope."""
    return Report(
        schema=schema_name(command),
        command=command,
        tool_version=__version__,
        generated_at=timestamp((clock or SystemClock()).now()),
        verdict=verdict,
        summary=summary,
        result=result,
        **parts,
    )
