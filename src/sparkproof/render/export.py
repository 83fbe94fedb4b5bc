"""A stored report as a page or a table, whatever command it is of."""

from __future__ import annotations

from typing import Any

from sparkproof.core.report import Report
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.results.proof import ProofResult
from sparkproof.render.bench_csv import bench_table
from sparkproof.render.bench_html import bench_page
from sparkproof.render.html import html_page
from sparkproof.render.live_proof_html import proof_page
from sparkproof.render.report_text import render_criteria


def render_export(report: Report[Any], kind: str) -> str:
    """The file's text.

    Args:
        kind: ``html``, or ``csv`` for a benchmark.
    """
    if kind == "csv":
        assert isinstance(report.result, BenchResult)
        return bench_table(report.result)
    if isinstance(report.result, BenchResult):
        return bench_page(report)
    if isinstance(report.result, ProofResult):
        return proof_page(report)
    return html_page(report, render_criteria(report.criteria))
