"""A walk as text: each candidate with its outcome, its reason and where that stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkproof.core.prediction import How, Outcome, Step
from sparkproof.core.results.proof import LayerProof
from sparkproof.core.text import shorten as cut
from sparkproof.render.lines import Cell, Line, Span, Style, line, table

_OUTCOME_STYLE = {Outcome.TAKEN: Style.GOOD, Outcome.UNDECIDED: Style.WARN}
_TOLD = (Outcome.REFUSED, Outcome.TAKEN, Outcome.UNDECIDED)
_REASON_CHARS = 96


def render_walk(layer: LayerProof, subjects: str, *, verbose: bool = False) -> Iterator[Line]:
    """Whose walk it is and what it ends in, then every candidate up to the pick.

    Args:
        subjects: layer classes that share it.
        verbose: reasons in full, and the candidates that were never asked.
    """
    found = layer.prediction
    if found is None or not found.oracle:
        return
    reason = found.reason if found.how is not How.NONE else shorten(found.reason)
    yield line(
        f"  {subjects}  ",
        Span(found.selected or "nothing", Style.GOOD if found.selected else Style.BAD),
        f"  {layer.speed}" if layer.speed else "",
        Span(f"  {reason} ({found.confidence.value})", Style.DIM),
    )
    steps = found.steps if verbose else list(_up_to_the_pick(found.steps))
    yield from table((_row(step, verbose=verbose) for step in steps), indent=4)
    if found.error:
        yield line("    ", Span("raises", Style.BAD), f"  {found.error}")


def _up_to_the_pick(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        if step.outcome in _TOLD:
            yield step
        if step.outcome is Outcome.TAKEN:
            return


def _row(step: Step, *, verbose: bool) -> Sequence[Cell]:
    place = step.evidence[0].place if step.evidence else ""
    style = _OUTCOME_STYLE.get(step.outcome, Style.PLAIN)
    return (
        Span(step.outcome.value, style),
        step.backend,
        step.reason if verbose else shorten(step.reason),
        Span(place.removeprefix("vllm/"), Style.DIM),
    )


def shorten(text: str) -> str:
    """The text, cut where a line would not hold it."""
    return cut(text, _REASON_CHARS)


def layer_name(layer: LayerProof) -> str:
    """``experts (layers 0-31)``."""
    return f"{layer.subject} ({layer.layers})" if layer.layers else layer.subject
