"""A proof as one page for a colleague: verdict and reasons first, evidence after, fit to print."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from sparkproof.core.finding import Finding, Severity
from sparkproof.core.report import Report
from sparkproof.core.results.live_proof import LiveProof, Match, Part, Topic
from sparkproof.core.results.proof import Branch, LayerProof, Memory, ProofResult
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.render.ab_html import ab_figures
from sparkproof.render.ab_text import render_ab
from sparkproof.render.bench_html import bench_figures
from sparkproof.render.bench_text import render_bench
from sparkproof.render.html import html_document, lines_html, made_by, safe
from sparkproof.render.lines import Line
from sparkproof.render.live_proof_text import match_word
from sparkproof.render.report_text import SEVERITY_STYLE, VERDICT_STYLE
from sparkproof.render.soak_html import soak_figures
from sparkproof.render.soak_text import render_soak
from sparkproof.render.walk_text import layer_name

_CSS = """
table{border-collapse:collapse;width:100%;font-size:.9rem;margin:.5rem 0 1rem}
th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;
border-bottom:1px solid var(--line);overflow-wrap:break-word}
code{overflow-wrap:anywhere}
th{color:var(--dim);font-weight:400}td:first-child{white-space:nowrap;overflow-wrap:normal}
.verdict{font-size:1.25rem;margin:.5rem 0}.two{display:flex;gap:2rem;flex-wrap:wrap}
.two>div{flex:1 1 20rem}ul{padding-left:1.2rem;margin:.3rem 0}li{margin:.15rem 0}
code{font:.85em ui-monospace,monospace}
@media print{:root{color-scheme:light;--ink:#000;--dim:#444;--page:#fff;--line:#bbb;
--good:#156b2d;--warn:#7a5200;--bad:#a51d1d;--a:#2563a8;--b:#b4552d;--c:#3d7d4f;--d:#7b4fa3}
html{font-size:11px}body{max-width:none;margin:0;padding:0;font-size:1rem}
pre{font-size:.8rem;white-space:pre-wrap}
h2{break-after:avoid}tr,figure{break-inside:avoid}a{color:inherit}
svg rect{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
_REASONS = 2
"""Findings on the first screen."""
_TOPICS = {
    Topic.SERVER: "Server: predicted and seen",
    Topic.MEMORY: "Memory: fit's numbers and the server's",
    Topic.BACKEND: "Backends: predicted and logged",
}


def proof_page(report: Report[ProofResult]) -> str:
    """The whole page of a proof, live or not."""
    result = report.result
    assert result is not None
    name = result.deployment.name or result.profile.name
    parts = [
        f"<h1>{safe(name)} on {safe(result.device)}</h1>",
        f'<p class="dim">vllm {safe(result.release)}, {safe(made_by(report))}</p>',
        *_first_screen(report, result.live),
        *_links(result),
        *_fit(result.memory),
    ]
    if result.live is not None:
        parts += _live(result.live)
    parts += [*_findings(report.findings), *_identities(report, result), *_facts(result.live)]
    unknowns = [(item.where, item.why, item.hint) for item in report.unknowns]
    parts += _section("Not examined", _table(("where", "why", "how to find out"), unknowns))
    return html_document(f"proof of {name}: {report.summary}", parts, css=_CSS)


def _first_screen(report: Report[ProofResult], live: LiveProof | None) -> Iterator[str]:
    word = _word(report.verdict.value.upper(), VERDICT_STYLE[report.verdict].value)
    yield f'<p class="verdict">{word} {safe(report.summary)}</p>'
    reasons = [f for f in report.findings if f.severity is not Severity.INFO][:_REASONS]
    if reasons:
        yield _list(_reason(item) for item in reasons)
    if live is None:
        return
    yield '<div class="two">'
    yield f"<div><h2>Exercised</h2>{_list(map(safe, live.exercised))}</div>"
    yield f"<div><h2>Not exercised</h2>{_list(map(safe, live.not_exercised))}</div>"
    yield "</div>"
    yield from _section("Parts", _table(("", "part", "", "took"), map(_part, live.parts)))


def _reason(item: Finding) -> str:
    subject = f"{item.subject}: " if item.subject else ""
    word = _word(item.severity.value, SEVERITY_STYLE[item.severity].value)
    return f'{word} {safe(subject + item.message)} <span class="dim">[{safe(item.rule)}]</span>'


def _part(part: Part) -> tuple[str, ...]:
    took = f"{part.took_s:.0f} s" if part.took_s >= 1 else ""
    return (_verdict(part.verdict), safe(part.name.value), safe(part.summary), took)


def _links(result: ProofResult) -> Iterator[str]:
    """Declare, select, deliver: a row for layer classes alike, a table a set of assumptions."""
    head = ("", "layers", "declared", "selected", "delivered")
    for branch in result.branches:
        told = ", ".join(f"{k.partition(':')[2] or k}: {v}" for k, v in branch.assumptions.items())
        title = "Declare, select, deliver" + (f", if {told}" if told else "")
        yield from _section(title, _table(head, _link_rows(branch)))


def _fit(memory: Memory | None) -> Iterator[str]:
    if memory is not None:
        yield from _section("Fit", _list(map(safe, (memory.summary, *memory.notes))))


def _link_rows(branch: Branch) -> Iterator[tuple[str, ...]]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for layer in branch.layers:
        warned = layer.warning and layer.verdict is Verdict.PASS
        word = _word("warn", "warn") if warned else _verdict(layer.verdict)
        delivered = "<br>".join(_delivered(layer))
        key = (word, safe(layer.scheme), safe(_selected(layer)), delivered)
        alike.setdefault(key, []).append(layer_name(layer))
    for (word, *rest), names in alike.items():
        yield (word, safe(", ".join(dict.fromkeys(names))), *rest)


def _selected(layer: LayerProof) -> str:
    name = layer.prediction.selected if layer.prediction else ""
    title = layer.backend if layer.backend != name else ""
    return ", ".join(filter(None, (name, title, layer.speed)))


def _delivered(layer: LayerProof) -> Iterator[str]:
    if not layer.deliveries:
        yield safe(layer.reason)
    for item in layer.deliveries:
        archs = f" ({item.kernels} kernels, {', '.join(item.archs)})" if item.kernels else ""
        yield safe(f"{item.what}: {item.name}, {item.reason}{archs}")


def _live(live: LiveProof) -> Iterator[str]:
    for topic, title in _TOPICS.items():
        rows = [_match(row) for row in live.matches if row.topic is topic]
        yield from _section(title, _table(("", "", "predicted", "seen", "in", ""), rows))
    if live.smoke is not None and live.smoke.result is not None:
        yield from _section("Smoke", _criteria(live.smoke.criteria), _costs(live.smoke.result))
    if live.soak is not None and live.soak.result is not None:
        soak = live.soak.result
        yield from _section(
            "Soak", *soak_figures(soak), _pre(render_soak(soak, live.soak.criteria))
        )
    if live.ab is not None and live.ab.result is not None:
        arms = live.ab.result
        yield from _section(
            "A/B against the control", *ab_figures(arms), _pre(render_ab(arms, live.ab.criteria))
        )
    if live.bench is not None and live.bench.result is not None:
        bench = live.bench.result
        yield from _section(
            "Bench", *bench_figures(bench), _pre(render_bench(bench, live.bench.criteria))
        )


def _match(row: Match) -> tuple[str, ...]:
    word = match_word(row)
    texts = (row.name, row.predicted, row.seen, row.seen_in, row.likely)
    return (_word(word.text, word.style.value), *map(safe, texts))


def _costs(result: SmokeResult) -> str:
    rows = [
        (
            safe(cost.shape),
            *(f"{s:.3f} s" if s >= 0 else "no answer" for s in (cost.first_s, cost.again_s)),
        )
        for cost in result.costs
    ]
    return _table(("first requests", "took", "the next one like it"), rows)


def _criteria(criteria: Iterable[Criterion]) -> str:
    rows = (
        (
            _word("warn", "warn")
            if item.warning and item.verdict is Verdict.PASS
            else _verdict(item.verdict),
            safe(item.name),
            safe(item.reason),
        )
        for item in criteria
    )
    return _table((), rows)


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    rows = [
        (
            _word(item.severity.value, SEVERITY_STYLE[item.severity].value),
            safe(item.subject),
            safe(item.message),
            safe(item.remedy),
            safe(item.rule),
        )
        for item in findings
    ]
    yield from _section("Findings", _table(("", "about", "what", "what to do", "rule"), rows))


def _identities(report: Report[ProofResult], result: ProofResult) -> Iterator[str]:
    deployment = result.deployment
    rows = [(safe(s.kind.value), safe(s.title), _code(s.identity)) for s in report.subjects]
    rows.append(("arguments", "", _code(shlex.join(deployment.args))))
    rows += [("environment", safe(name), _code(value)) for name, value in deployment.env.items()]
    if result.live is not None:
        kept = [part for part in result.live.parts if part.receipt]
        rows += [("receipt", safe(part.name.value), _code(part.receipt)) for part in kept]
    if report.receipt:
        rows.append(("receipt", "this page's", _code(report.receipt)))
    yield from _section("Identities", _table(("", "", "digest or words"), rows))


def _facts(live: LiveProof | None) -> Iterator[str]:
    facts = live.facts if live is not None else ()
    rows = [(safe(item.id), safe(item.checked), safe(item.source)) for item in facts]
    yield from _section("Facts used", _table(("fact", "checked", "source"), rows))


def _section(title: str, *bodies: str) -> Iterator[str]:
    """A heading and what is below it; nothing where nothing is."""
    if any(bodies):
        yield f"<section><h2>{safe(title)}</h2>"
        yield from bodies
        yield "</section>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells that are HTML already; "" for none."""
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    if not cells:
        return ""
    top = f"<tr>{''.join(f'<th>{safe(word)}</th>' for word in head)}</tr>" if head else ""
    return f"<table>{top}{cells}</table>"


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _pre(lines: Iterable[Line]) -> str:
    return f"<pre>{lines_html(lines)}</pre>"


def _verdict(verdict: Verdict) -> str:
    return _word(verdict.value, VERDICT_STYLE[verdict].value)


def _word(text: str, style: str) -> str:
    return f'<span class="{safe(style)}">{safe(text)}</span>'


def _code(text: str) -> str:
    return f"<code>{safe(text)}</code>" if text else ""
