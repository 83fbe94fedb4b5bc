"""A release as text: what an operator asks first, then the section that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sparkproof.core.condition import render_condition
from sparkproof.core.observations.release_surface import Option
from sparkproof.core.results.release import (
    BackendRow,
    BuildResult,
    Contains,
    DeviceAnswer,
    OracleView,
    ReleaseResult,
)
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table
from sparkproof.render.plain_values import plain_default

_DEVICE = {
    DeviceAnswer.YES: Style.GOOD,
    DeviceAnswer.DEPENDS: Style.WARN,
    DeviceAnswer.UNREAD: Style.WARN,
    DeviceAnswer.NO: Style.DIM,
}
_SHOWN = 4


def render_release(result: ReleaseResult) -> list[Line]:
    """Orders on the device, batch defaults, what there is to ask for; then the sections."""
    sections = [item for draw in _SECTIONS for item in draw(result)]
    if sections:
        return sections
    origin = "shipped surface" if result.shipped else "read from the artifact"
    lines = [
        heading(
            "order", f"of the automatic choice, less what {result.capability} refuses ({origin})"
        )
    ]
    lines += table(_order(item) for item in result.oracles)
    if result.batch is not None:
        sure = "" if result.batch.known else "  (if the device has that much memory)"
        lines += [
            line(),
            line(
                Span("batch default  ", Style.DIM),
                f"{result.batch.tokens:,} tokens, {result.batch.sequences:,} sequences{sure}",
            ),
        ]
    lines += [line(), heading("sections", "--section NAME shows one")]
    lines += table(
        ((item.section, f"{item.items:,}", item.note) for item in result.sections),
        right=frozenset({1}),
    )
    return lines


def _order(view: OracleView) -> tuple[Cell, ...]:
    if view.forced:
        return (view.id, view.case, Span(view.forced, Style.STRONG), "without a walk")
    if view.untold:
        return (view.id, view.case, Span("unknown", Style.WARN), view.untold)
    if not view.eligible:
        return (view.id, view.case, Span("none", Style.DIM), "")
    rest = view.eligible[1:_SHOWN]
    more = f" (+{len(view.eligible) - _SHOWN})" if len(view.eligible) > _SHOWN else ""
    after = f"then {', '.join(map(_short, rest))}{more}" if rest else ""
    return (view.id, view.case, Span(_short(view.eligible[0]), Style.STRONG), after)


def _short(name: str) -> str:
    return name.removesuffix("LinearKernel").removesuffix("Kernel")


def _oracles(result: ReleaseResult) -> list[Line]:
    lines: list[Line] = []
    for view in result.oracles:
        if not view.rows:
            continue
        place = f"{view.source.path}:{view.source.line}"
        lines += [line(), heading(view.id, f"{view.case}  {view.flag}  {place}")]
        lines += table([_HEAD, *map(_backend, view.rows)])
    return lines


_HEAD: tuple[Cell, ...] = tuple(
    Span(word, Style.DIM) for word in ("backend", "exists", "flag value", "auto", "device", "")
)


def _backend(row: BackendRow) -> tuple[Cell, ...]:
    gates = ", ".join(row.gates[:_SHOWN])
    more = f" (+{len(row.gates) - _SHOWN})" if len(row.gates) > _SHOWN else ""
    return (
        row.backend,
        "yes" if row.exists else "no",
        ", ".join(row.flag_values) or "none",
        str(row.automatic) if row.automatic else "never",
        Span(row.device.value, _DEVICE[row.device]),
        Span(gates + more, Style.DIM),
    )


def _options(result: ReleaseResult) -> list[Line]:
    if not result.options:
        return []
    rows = (_option(item, result.lives.get(item.flag, "")) for item in result.options)
    return [heading("options"), *table(rows)]


def _option(item: Option, life: str) -> tuple[Cell, ...]:
    """Names, then type, default, life and values in one cell: no page holds them side by side."""
    other = " ".join(n for n in item.names if n != item.flag and n not in item.negative)
    kind = "switch" if item.arity == "none" else item.value
    if item.arity not in ("one", "none"):
        kind += f" ({item.arity})"
    default = item.computed or ("" if item.default is None else plain_default(item.default))
    values = ", ".join(item.choices[:8]) + (" …" if len(item.choices) > 8 else "")
    told = (kind, f"default {default}" if default else "", life)
    notes = (Span(item.deprecated, Style.WARN), Span(values, Style.DIM))
    parts = [Span("; ".join(filter(None, told)))]
    for note in filter(lambda span: span.text, notes):
        parts += [Span("  "), note]
    return (f"{item.flag} {other}".rstrip(), tuple(parts))


def _env(result: ReleaseResult) -> list[Line]:
    rows = (
        (
            item.name,
            "" if item.default is None else plain_default(item.default),
            result.lives.get(item.name, ""),
            item.deprecated,
        )
        for item in result.env
    )
    return [heading("environment"), *table(rows)] if result.env else []


def _models(result: ReleaseResult) -> list[Line]:
    rows = (
        (item.architecture, item.kind, item.implementation or item.note, item.needs)
        for item in result.models
    )
    return [heading("models"), *table(rows)] if result.models else []


def _configs(result: ReleaseResult) -> list[Line]:
    lines: list[Line] = []
    for config in result.configs:
        lines += [line(), heading(config.name, f"{config.source.path}:{config.source.line}")]
        lines += table(
            (f.name, f.type, f.computed or ("" if f.default is None else repr(f.default)))
            for f in config.fields
        )
    return lines


def _rules(result: ReleaseResult) -> list[Line]:
    lines: list[Line] = []
    if result.batch_tiers:
        lines += [heading("batch defaults", "tokens and sequences of a server, first that holds")]
        lines += table(
            (f"{tier.tokens:,}", f"{tier.sequences:,}", render_condition(tier.when))
            for tier in result.batch_tiers
        )
    for rule in result.rules:
        lines += [line(), heading(rule.id, f"{rule.source.path}:{rule.source.line}")]
        lines += table(
            (case.outcome, case.reason[:70], _cut(render_condition(case.when)))
            for case in rule.cases
        )
    if result.graphs is not None:
        graphs = result.graphs
        ceilings = ", ".join(f"{n} {render_condition(when)}" for when, n in graphs.ceilings)
        lines += [line(), heading("graphs", f"largest size min({graphs.cap}, {ceilings})")]
        lines += table((f"level {level}", mode) for level, mode in graphs.levels)
    return lines


def _cut(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _listed(title: str, rows: Iterable[tuple[Cell, ...]]) -> list[Line]:
    drawn = table(rows)
    return [heading(title), *drawn] if drawn else []


def _parsers(result: ReleaseResult) -> list[Line]:
    return _listed("parsers", ((p.kind, p.name, p.implementation) for p in result.parsers))


def _metrics(result: ReleaseResult) -> list[Line]:
    rows = ((m.name, m.kind, f"{m.source.path}:{m.source.line}") for m in result.metrics)
    return _listed("metrics", rows)


def _endpoints(result: ReleaseResult) -> list[Line]:
    rows = (
        (
            e.path,
            ",".join(e.methods),
            Span("development mode only", Style.WARN) if e.dev_mode else "; ".join(e.guards),
        )
        for e in result.endpoints
    )
    return _listed("endpoints", rows)


def _messages(result: ReleaseResult) -> list[Line]:
    rows = ((m.level, f"{m.path}:{m.line}", _cut(m.text)) for m in result.messages)
    return _listed("wording", rows)


def _pins(result: ReleaseResult) -> list[Line]:
    rows = (
        (
            pin.name + (f"[{','.join(pin.asks)}]" if pin.asks else ""),
            pin.specifier or "any",
            f"extra {pin.extra}" if pin.extra else "" if pin.applies else f"not here: {pin.marker}",
        )
        for pin in result.pins
    )
    return _listed("requirements", rows)


_SECTIONS: tuple[Callable[[ReleaseResult], list[Line]], ...] = (
    _oracles,
    _options,
    _env,
    _configs,
    _models,
    _rules,
    _parsers,
    _metrics,
    _endpoints,
    _messages,
    _pins,
)


def render_contains(result: Contains) -> list[Line]:
    """Commit and first tag."""
    if not result.commit:
        lines = [line(Span("no commit of the history names it", Style.DIM))]
    else:
        rows = [("commit", result.commit[:12], result.subject)]
        rows.append(("first tag", result.first_tag or "none of this checkout", ""))
        lines = table(rows)
    for claim in result.claims:
        agrees = {True: "as claimed", False: "otherwise than claimed", None: ""}[claim.agrees]
        told = " ".join(filter(None, (f"({claim.said})" if claim.said else "", agrees)))
        lines.append(line(f"{claim.id}: {claim.statement} {told}".rstrip()))
    return lines


def render_builds(result: BuildResult) -> list[Line]:
    """One row per kernel family."""
    shown = ", ".join(result.arch_list) or "the project's own list"
    lines = [heading("kernel families", f"CUDA {result.cuda}, architectures {shown}")]
    lines += table(
        (
            Span("runs", Style.GOOD) if item.serves else Span("nothing", Style.BAD),
            item.family,
            ", ".join(item.built) or "not built",
            Span(f"wants {', '.join(item.wanted)}", Style.DIM),
            item.guard,
        )
        for item in result.families
    )
    return lines
