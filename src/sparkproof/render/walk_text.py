"""A walk as text: each candidate with its outcome, its reason and where that stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkproof.core.prediction import How, Outcome, Prediction, Step
from sparkproof.core.results.proof import LayerProof
from sparkproof.core.text import shorten as cut
from sparkproof.render.lines import Cell, Line, Span, Style, line, table
from sparkproof.render.page import page_width, text_of

_OUTCOME_STYLE = {Outcome.TAKEN: Style.GOOD, Outcome.UNDECIDED: Style.WARN}
_TOLD = (Outcome.REFUSED, Outcome.TAKEN, Outcome.UNDECIDED)
_REASON_CHARS = 96
_PARTS_KEPT = 3


def render_walk(layer: LayerProof, subjects: str, *, verbose: bool = False) -> Iterator[Line]:
    """Whose walk it is and what it ends in, then every candidate up to the pick.

    Args:
        subjects: layer classes that share it.
        verbose: reasons in full, and the candidates that were never asked.
    """
    found = layer.prediction
    if found is None or not found.oracle:
        return
    yield from _title(found, subjects, layer.speed)
    steps = found.steps if verbose else list(_up_to_the_pick(found.steps))
    yield from table((_row(step, verbose=verbose) for step in steps), indent=4)
    if found.error:
        yield line("    ", Span("raises", Style.BAD), f"  {found.error}")


def _title(found: Prediction, subjects: str, speed: str) -> Iterator[Line]:
    """One line, or two where the page does not hold the reason beside the pick."""
    reason = found.reason if found.how is not How.NONE else shorten(found.reason)
    why = Span(f"{reason} ({found.confidence.value})", Style.DIM)
    title = line(f"  {subjects}  ", _picked(found), f"  {speed}" if speed else "")
    if len(text_of(title)) + 2 + len(why.text) <= page_width():
        yield (*title, Span("  "), why)
    else:
        yield from (title, line("    ", why))


def _picked(found: Prediction) -> Span:
    """The pick; where a candidate could not be judged, that it is open."""
    if found.selected:
        return Span(found.selected, Style.GOOD)
    undecided = any(step.outcome is Outcome.UNDECIDED for step in found.steps)
    return Span("open", Style.WARN) if undecided else Span("nothing", Style.BAD)


def _up_to_the_pick(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        if step.outcome in _TOLD:
            yield step
        if step.outcome is Outcome.TAKEN:
            return


def _row(step: Step, *, verbose: bool) -> Sequence[Cell]:
    place = step.evidence[0].place if step.evidence else ""
    style = _OUTCOME_STYLE.get(step.outcome, Style.PLAIN)
    reason = step.reason if verbose else shorten(step.reason)
    shown = place.removeprefix("vllm/") if verbose else short_place(place)
    return (
        Span(step.outcome.value, style),
        step.backend,
        line(reason, "  " if reason and shown else "", Span(shown, Style.DIM)),
    )


def short_place(place: str) -> str:
    """``…/oracle/nvfp4.py:305``: the last two parts of a path."""
    parts = place.split("/")
    return place if len(parts) < _PARTS_KEPT else "/".join(("…", *parts[-2:]))


def shorten(text: str) -> str:
    """The text, cut where a line would not hold it."""
    return cut(text, _REASON_CHARS)


def layer_name(layer: LayerProof) -> str:
    """``experts (layers 0-31)``."""
    return f"{layer.subject} ({layer.layers})" if layer.layers else layer.subject
