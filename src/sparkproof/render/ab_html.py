"""``ab`` as a page: accuracy by kind, classes of divergence, and speed with its interval."""

from __future__ import annotations

from sparkproof.core.ab import DivergenceClass
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbResult, Treatment
from sparkproof.render.ab_text import render_ab
from sparkproof.render.html import Bar, bar_chart, html_page


def ab_page(report: Report[AbResult]) -> str:
    """The whole page."""
    result = report.result
    if result is None:
        return html_page(report, ())
    return html_page(report, render_ab(result, report.criteria), ab_figures(result))


def ab_figures(result: AbResult) -> list[str]:
    """The plots, as parts of a page."""
    figures = []
    for treatment in result.treatments:
        name = result.arms[treatment.arm].name
        figures += [
            bar_chart(f"Right answers, control and {name}", "%", _accuracy(treatment)),
            bar_chart(f"Answers of {name} that differ", "%", _classes(result, treatment)),
            bar_chart(
                f"Speed of {name} by the control's, with its interval",
                "x",
                _speed(result, treatment),
            ),
        ]
    return figures


def _accuracy(treatment: Treatment) -> list[Bar]:
    return [
        Bar(f"{row.task_kind}, {who}", 100 * right / row.scored, series=place)
        for row in treatment.accuracy
        for place, (who, right) in enumerate(
            (("control", row.control), ("treatment", row.treatment))
        )
    ]


def _classes(result: AbResult, treatment: Treatment) -> list[Bar]:
    bars = []
    for cell in treatment.cells:
        for place, row in enumerate(cell.classes):
            if row.kind is DivergenceClass.IDENTICAL or row.share is None:
                continue
            name = f"{row.kind.value}, {result.plan.cells[cell.cell].name}"
            whole = max(1, cell.pairs - cell.failed)
            low, high = 100 * row.share.low, 100 * row.share.high
            bars.append(Bar(name, 100 * row.count / whole, low, high, place))
    return bars


def _speed(result: AbResult, treatment: Treatment) -> list[Bar]:
    return [
        Bar(
            f"{change.name}, {result.plan.cells[change.cell].name}",
            change.change.ratio,
            change.change.interval.low if change.change.interval else None,
            change.change.interval.high if change.change.interval else None,
            int(change.name == "TTFT"),
        )
        for change in treatment.speed
    ]
