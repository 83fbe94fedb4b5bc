"""``soak`` as text: what held, what it was put through, how each kind fared."""

from __future__ import annotations

from sparkproof.core.results.soak import KindCount, SoakResult
from sparkproof.core.verdict import Criterion
from sparkproof.render.lines import Line, Span, Style, heading, line, table
from sparkproof.render.report_text import render_criteria

_HEAD = ("kind", "requests", "failed", "p50 s", "p99 s", "longest s", "first token p50, p99 ms")
_GIB = 1 << 30


def render_soak(result: SoakResult, criteria: tuple[Criterion, ...] = ()) -> list[Line]:
    """The body of the answer."""
    snapshot, plan = result.snapshot, result.plan
    title = (
        f"{snapshot.address}  vLLM {snapshot.version or '?'}  {plan.model}  "
        f"{plan.concurrency} at once, {plan.prompt_low} to {plan.longest} tokens"
    )
    state = Span("  loaded", Style.WARN) if result.loaded else Span("")
    lines = [(*heading("soak", title), state), *render_criteria(criteria)]
    if result.kinds:
        rows: list[tuple[str | Span, ...]] = [tuple(Span(word, Style.DIM) for word in _HEAD)]
        rows += [_row(kind) for kind in result.kinds]
        lines += [line(), heading("requests", "")]
        lines += table(rows, right=frozenset({1, 2, 3, 4, 5}))
    lines += _failures(result)
    return [*lines, *_beside(result)]


def _row(kind: KindCount) -> tuple[str | Span, ...]:
    first, last = kind.ttft_p50_s, kind.ttft_p99_s
    marks = f"{first * 1000:.0f}, {last * 1000:.0f}" if first is not None and last else "-"
    failed = Span(str(kind.failed), Style.BAD) if kind.failed else Span("0")
    times = (_seconds(v) for v in (kind.p50_s, kind.p99_s, kind.longest_s))
    return (kind.kind.value, str(kind.requests), failed, *times, marks)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _failures(result: SoakResult) -> list[Line]:
    if not result.failures:
        return []
    rows = [
        (
            Span(f.outcome.value, Style.BAD),
            f"{f.count}, from request {f.n} ({f.kind.value}), {f.into_s:.1f} s in",
            f.detail,
        )
        for f in result.failures
    ]
    return [line(), heading("failures", f"all of them in {result.records}"), *table(rows)]


def _beside(result: SoakResult) -> list[Line]:
    rows = []
    if result.log is not None and result.log.cause is not None:
        cause = result.log.cause
        rows.append(("cause", f"{cause.title} [{cause.signature}]"))
    process = result.process
    if process is not None and process.first_rss_bytes >= 0:
        first, last = process.first_rss_bytes / _GIB, process.last_rss_bytes / _GIB
        gone = ", gone at the end" if process.gone else ""
        name = f" ({process.name})" if process.name else ""
        size = f"{first:.2f} GiB resident, then {last:.2f}{gone}"
        rows.append(("server", f"process {process.pid}{name}: {size}"))
    for number, session in enumerate(result.sessions[:-1], 1):
        done = result.sessions[number].done
        how = f"{session.ending.value} after {session.seconds:.0f} s, {done} requests done"
        rows.append((f"stretch {number}", how))
    if result.client is not None:
        rows.append(("client", f"{result.client.cpu_s:.1f} s of processor time here"))
    rows.append(("records", result.records))
    return [line(), *table((Span(name, Style.DIM), text) for name, text in rows)]
