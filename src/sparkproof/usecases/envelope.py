"""Fill in the parts of a report that every use case fills in alike."""

from __future__ import annotations

from typing import Any, TypeVar

from sparkproof import __version__
from sparkproof.adapters.clock import SystemClock, timestamp
from sparkproof.core.ports import Clock
from sparkproof.core.report import Report, schema_name
from sparkproof.core.verdict import Verdict, criteria_of_errors, fold

T = TypeVar("T")


_HELD = (Verdict.PASS, Verdict.SKIPPED, Verdict.INCONCLUSIVE)


def make_report(
    command: str,
    result: T,
    *,
    verdict: Verdict,
    summary: str,
    clock: Clock | None = None,
    **parts: Any,
) -> Report[T]:
    """A report of `command`, dated now; `parts` are further fields of the envelope.

    A finding of severity error fails the report, whatever its other criteria say, and is then
    its summary.
    """
    errors = criteria_of_errors(parts.get("findings", ())) if verdict in _HELD else ()
    if errors:
        verdict = fold((verdict, *(item.verdict for item in errors)))
        summary = errors[0].reason
        parts["criteria"] = (*parts.get("criteria", ()), *errors)
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
