"""A log's facts as text: the last boot in full, earlier ones in a line."""

from __future__ import annotations

from sparkproof.core.observations.boot_log import BootLog, Judgement, Outcome
from sparkproof.core.results.log import BootView, LogResult
from sparkproof.core.text import shorten
from sparkproof.core.units import format_bytes, plural
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table
from sparkproof.render.plain_values import name_and_value, plain_value

_OUTCOME_STYLE = {
    Outcome.SERVING: Style.GOOD,
    Outcome.STOPPED: Style.GOOD,
    Outcome.FAILED: Style.BAD,
    Outcome.DIED: Style.BAD,
    Outcome.UNFINISHED: Style.WARN,
}
_ARGUMENT_CHARS = 100
_SHOWN_FIRST = ("architecture", "quantization_detected", "max_model_len", "device_name")
_OF_THE_POOL = ("kv_", "concurrency", "max_concurrency", "block_size", "mamba_", "padding_")
_OF_MEMORY = ("utilization", "refused_")
_ON = Span("on", Style.GOOD)
_OFF = Span("off", Style.WARN)


def render_log(result: LogResult) -> list[Line]:
    """Facts of each server's last boot, after a line for each earlier one."""
    if not result.boots:
        return []
    size = f"{result.where}  {plural(result.lines, 'line')}, {format_bytes(result.size_bytes)}"
    if result.boots_total > 1:
        size += f", {result.boots_total} boots"
    lines = [line(Span(size, Style.DIM))]
    last = {view.boot.service: view for view in result.boots}
    several = len(last) > 1
    shown = {id(view) for view in last.values()}
    lines += [_brief(view.boot, several) for view in result.boots if id(view) not in shown]
    for view in last.values():
        lines += _boot(view, several)
    if result.timeline:
        lines += [line(), heading("timeline")]
        lines += table(
            (Span(e.at or "-", Style.DIM), e.source, shorten(e.what, 160)) for e in result.timeline
        )
    return lines


def _title(boot: BootLog, several: bool) -> str:
    return f"{boot.service}, boot {boot.number}" if several else f"boot {boot.number}"


def _brief(boot: BootLog, several: bool) -> Line:
    outcome = Span(boot.outcome.value, _OUTCOME_STYLE[boot.outcome])
    first = boot.errors[0] if boot.errors else None
    said = shorten(f"  {first.kind}: {first.message}", 120) if first else ""
    return line(
        f"  {_title(boot, several)}  lines {boot.first_line}-{boot.last_line}  ", outcome, said
    )


def _boot(view: BootView, several: bool) -> list[Line]:
    boot = view.boot
    lines = [line()]
    title = f"lines {boot.first_line}-{boot.last_line}"
    lines.append(heading(_title(boot, several), f"{title}, {boot.outcome.value}"))
    lines += _section("identity", _identity(boot))
    lines += _section("backends", _backends(boot))
    values = _values(boot)
    for group in ("pool", "memory"):
        lines += _section(group, values[group])
    lines += _section("features", _features(boot))
    lines += _section("phases", _phases(boot))
    lines += _section("times", values["times"])
    lines += _section("traffic", _traffic(boot))
    lines += _section("derived", [(d.name, d.text) for d in view.derived])
    lines += _section("warnings", _warnings(boot))
    lines += _section("other values", values["other"])
    if boot.absent:
        lines += _section("absent", [(name.replace("_", " "), "") for name in boot.absent])
    return lines


def _section(name: str, rows: list[tuple[Cell, ...]]) -> list[Line]:
    if not rows:
        return []
    return [line(Span(name, Style.STRONG)), *table(rows)]


def _identity(boot: BootLog) -> list[tuple[Cell, ...]]:
    rows: dict[str, str] = {"version": boot.version} if boot.version else {}
    for name in _SHOWN_FIRST:
        value = boot.first(name)
        if value is not None:
            rows[name.replace("_", " ")] = str(value)
    device = boot.argument("device_config")
    if device:
        rows["device"] = device
    first = len(rows)
    for item in boot.arguments:
        rows.setdefault(item.name.replace("_", " "), plain_value(item.value))
    if rows.get("model tag") == rows.get("model"):
        rows.pop("model tag", None)
    return [
        (name, value if place < first else Span(shorten(value, _ARGUMENT_CHARS), Style.DIM))
        for place, (name, value) in enumerate(rows.items())
    ]


def _backends(boot: BootLog) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for item in boot.backends:
        name = f"{item.layer_class} {item.scheme}".strip() + (" (draft)" if item.draft else "")
        note = ", ".join(item.passed_over)
        over = Span(f"before it: {note}" if note else "", Style.DIM)
        rows.append((name, Span(item.backend, Style.STRONG), over))
    for refused in boot.refusals:
        name = f"{refused.layer_class} {refused.scheme}".strip()
        why = Span(shorten(refused.reason, 120), Style.DIM)
        rows.append((name, Span(f"refused {refused.backend}", Style.DIM), why))
    return rows


def _values(boot: BootLog) -> dict[str, list[tuple[Cell, ...]]]:
    """What the log states, by what it is about, each in the order of the log."""
    shown: dict[str, list[str]] = {}
    first: dict[str, tuple[str, int]] = {}
    for item in boot.seen:
        if item.name in _SHOWN_FIRST:
            continue
        label, text = name_and_value(item.name, item.value)
        text = shorten(text, _ARGUMENT_CHARS)
        values = shown.setdefault(item.name, [])
        first.setdefault(item.name, (label, item.line))
        if text not in values:
            values.append(text)
    groups: dict[str, list[tuple[Cell, ...]]] = {
        g: [] for g in ("pool", "memory", "times", "other")
    }
    for name, values in shown.items():
        label, place = first[name]
        row = (label, ", ".join(values), Span(f"line {place}", Style.DIM))
        groups[_group(name)].append(row)
    return groups


def _group(name: str) -> str:
    if name.startswith(_OF_THE_POOL):
        return "pool"
    if name.endswith(("_gib", "_bytes")) or name.startswith(_OF_MEMORY):
        return "memory"
    return "times" if name.endswith("_s") else "other"


def _features(boot: BootLog) -> list[tuple[Cell, ...]]:
    return [
        (item.feature.replace("_", " "), _ON if item.on else _OFF, shorten(item.why, 120))
        for item in boot.features
    ]


def _phases(boot: BootLog) -> list[tuple[Cell, ...]]:
    return [
        (p.phase.value, f"+{round(p.since_start_s, 1):g} s" if p.since_start_s >= 0 else "", p.at)
        for p in boot.phases
    ]


def _traffic(boot: BootLog) -> list[tuple[Cell, ...]]:
    traffic = boot.traffic
    rows: list[tuple[Cell, ...]] = []
    answered = traffic.responses_ok + traffic.responses_refused + traffic.responses_failed
    if answered:
        refused, failed = traffic.responses_refused, traffic.responses_failed
        rows.append(
            ("answers", f"{answered:,}, {refused:,} refused (4xx), {failed:,} failed (5xx)")
        )
    if traffic.intervals:
        peak = f"{traffic.peak_prompt_tokens_per_s:g} prompt, "
        peak += f"{traffic.peak_generation_tokens_per_s:g} generated"
        rows.append(("peak tokens/s", peak))
    if traffic.last_prefix_hit_pct >= 0:
        rows.append(("prefix hits", f"{traffic.last_prefix_hit_pct:g}%"))
    if traffic.last_acceptance_length >= 0:
        share = traffic.last_draft_acceptance_pct
        note = f" ({share:g}% of drafts)" if share >= 0 else ""
        rows.append(("acceptance length", f"{traffic.last_acceptance_length:g}{note}"))
    return rows


def _warnings(boot: BootLog) -> list[tuple[Cell, ...]]:
    style = {
        Judgement.MATTERS: Style.WARN,
        Judgement.HARMLESS: Style.DIM,
        Judgement.UNKNOWN: Style.PLAIN,
    }
    order = (Judgement.MATTERS, Judgement.UNKNOWN, Judgement.HARMLESS)
    rows: list[tuple[Cell, ...]] = []
    for judgement in order:
        for item in boot.warnings:
            if item.judgement is judgement:
                times = f" x{item.count}" if item.count > 1 else ""
                word = Span(judgement.value, style[judgement])
                rows.append((word, f"{shorten(item.text, 110)}{times}", Span(item.why, Style.DIM)))
    return rows
