"""The memory plan as text: pool, budget, phases as bars, answers."""

from __future__ import annotations

from collections.abc import Iterable

from sparkproof.core.memory_plan import BudgetLine, KvPlan, MemoryPlan, Phase
from sparkproof.core.observations.state_layout import StateKind
from sparkproof.core.results.fit import FitResult
from sparkproof.render.lines import Cell, Line, Span, Style, Verbatim, heading, line, table
from sparkproof.render.page import page_width

_GIB = 1 << 30
_WIDEST, _BESIDE_BARS, _OVERFLOW = 56, 54, 4
"""Columns of a bar, of what stands beside it, and of what does not fit into the memory."""
_RECURRENT = frozenset(kind.value for kind in StateKind if kind.recurrent)
_SIGNS = {
    "os": "s",
    "server": "s",
    "pinned": "s",
    "request": "R",
    "weights": "W",
    "drafter": "D",
    "staging": "p",
    "repack": "p",
    "compilers": "j",
    "autotune": "t",
    "non-torch": "n",
    "rest": "n",
    "activation": "a",
    "growth": "a",
    "kv": "K",
    "graphs": "g",
}
_LEGEND = {
    "W": "weights",
    "D": "drafter",
    "K": "KV cache",
    "a": "activations and growth",
    "n": "outside torch",
    "g": "graphs",
    "s": "system",
    "T": "other servers",
    "p": "staging",
    "j": "compilers",
    "t": "tuning",
    "R": "request",
    ".": "free",
}


def render_fit(result: FitResult) -> list[Line]:
    """Pool, budget, phases and answers."""
    lines = _pool(result)
    if result.memory is not None:
        lines += [line(), *_budget(result.memory), line(), *_phases(result.memory)]
    if result.starts:
        lines += [line(), *_starts(result)]
    lines += [line(), *_solved(result)]
    if result.alternatives:
        lines += [line(), *_alternatives(result)]
    return lines


def _pool(result: FitResult) -> list[Line]:
    plan = result.plan
    drafter = f" with {result.drafter}" if result.drafter else ""
    where = f"{result.checkpoint}{drafter} under vLLM {result.version}"
    lines = [heading("kv cache", where)]
    lines += table(_pool_rows(result, plan))
    rows: list[tuple[Cell, ...]] = [
        tuple(Span(c, Style.DIM) for c in ("group", "layers", "block", "page", "per request"))
    ]
    rows += [
        (
            " + ".join(group.kinds),
            str(group.layers),
            f"{group.block_tokens:,}",
            f"{group.page_bytes:,} B",
            f"{group.blocks_per_request:,}",
        )
        for group in plan.groups
    ]
    return [*lines, line(), *table(rows, right=frozenset({1, 2, 3, 4}))]


def _pool_rows(result: FitResult, plan: KvPlan) -> Iterable[tuple[Cell, ...]]:
    yield "pool", f"{_gib(plan.pool_bytes)}, {result.pool_origin}"
    if result.arguments:
        yield "flags read", f"by {result.arguments}"
    yield "block size", f"{plan.block_size:,} tokens, {plan.block_bytes:,} bytes over all layers"
    yield "blocks", f"{plan.blocks:,}, one full request takes {plan.blocks_per_request:,}"
    yield (
        "log line",
        Span(
            f"GPU KV cache size: {plan.tokens:,} tokens, Maximum concurrency for"
            f" {plan.max_model_len:,} tokens per request: {plan.concurrency:.2f}x",
            Style.STRONG,
        ),
    )
    yield from _other_pools(result, plan)
    yield "per token", f"{plan.bytes_per_token / 1000:.1f} KB at this context length"
    mode = f", states {plan.state_mode}" if any(_is_state(g.kinds) for g in plan.groups) else ""
    caching = "on" if plan.prefix_caching else "off"
    yield (
        "settings",
        (
            f"KV {plan.cache_dtype}, prefix caching {caching}{mode},"
            f" {plan.speculative_tokens} speculative tokens, {plan.batched_tokens:,} batched tokens"
        ),
    )


def _other_pools(result: FitResult, plan: KvPlan) -> Iterable[tuple[Cell, ...]]:
    """What the pool may be instead: by rounding, by what boots have shown, in another release."""
    if plan.tokens_if_less != plan.tokens_if_more:
        yield (
            "rounding",
            (
                f"the printed GiB leaves {plan.blocks_if_less:,} to {plan.blocks_if_more:,} blocks:"
                f" {plan.tokens_if_less:,} to {plan.tokens_if_more:,} tokens"
            ),
        )
    if result.low is not None and result.high is not None:
        yield (
            "interval",
            f"{result.low.tokens:,} to {result.high.tokens:,} tokens, {_interval_of(result)}",
        )
    if result.neighbour is not None:
        other = result.neighbour
        yield (
            f"under {other.version}",
            (
                f"{other.blocks:,} blocks of {other.block_size:,}: {other.tokens:,} tokens,"
                f" {other.concurrency:.2f}x"
            ),
        )


def _interval_of(result: FitResult) -> str:
    """Whose interval it is: this setup's own, or that of a box that was not measured."""
    lines = result.memory.lines if result.memory is not None else ()
    if any(item.name == "rest" for item in lines):
        return "by the log of this setup"
    return "for four in five boxes that were not measured"


def _is_state(kinds: tuple[str, ...]) -> bool:
    return not _RECURRENT.isdisjoint(kinds)


def _budget(memory: MemoryPlan) -> list[Line]:
    title = f"{_gib(memory.requested_bytes)} requested of {_gib(memory.total_bytes)}"
    lines = [heading("budget", title)]
    lines += table((_line_row(item) for item in memory.lines), right=frozenset({1}))
    lines.append(line(Span("  outside the request", Style.DIM)))
    return lines + table((_line_row(item) for item in memory.host), right=frozenset({1}))


def _line_row(item: BudgetLine) -> tuple[Cell, ...]:
    spread = ""
    if item.low_bytes != item.high_bytes:
        spread = f"{_gib(item.low_bytes)} to {_gib(item.high_bytes)}"
    return (
        item.name,
        _gib(item.bytes),
        Span(spread, Style.DIM),
        Span(f"{item.origin.value}: {item.why}", Style.DIM),
    )


def _phases(memory: MemoryPlan) -> list[Line]:
    tightest = memory.tightest
    room = page_width() - _BESIDE_BARS
    full = any(phase.free_bytes < 0 for phase in memory.phases)
    width = min(_WIDEST, room - _OVERFLOW - 1 if full else room)
    bars = [bar(phase, memory.total_bytes, width) for phase in memory.phases]
    lines = [heading("phases", f"one column is {memory.total_bytes / _GIB / width:.1f} GiB")]
    lines += table(
        (
            phase.title,
            Verbatim(drawn, _bar_style(phase)),
            Span(f"{_gib(phase.free_bytes)} free", _bar_style(phase)),
            Span("tightest" if phase.name == tightest.name else "", Style.STRONG),
        )
        for phase, drawn in zip(memory.phases, bars, strict=True)
    )
    signs = "  ".join(f"{sign} {word}" for sign, word in _LEGEND.items() if sign in "".join(bars))
    lines.append(line(Span(f"  {signs}", Style.DIM)))
    lines.append(line(f"  tightest: {tightest.title}; to widen it, {tightest.turn_down}"))
    return lines


def _bar_style(phase: Phase) -> Style:
    if phase.free_bytes < 0:
        return Style.BAD
    return Style.WARN if phase.low_free_bytes < 0 else Style.PLAIN


def bar(phase: Phase, total_bytes: int, width: int = _WIDEST) -> str:
    """The uses of one phase, a letter per share; what does not fit stands after ``|``."""
    column = total_bytes / width
    text, edge = "", 0.0
    for name, size in phase.uses.items():
        edge += max(size, 0)
        sign = "T" if name.startswith("tenant ") else _SIGNS.get(name, "?")
        text += sign * (round(edge / column) - len(text))
    if len(text) <= width:
        return text + "." * (width - len(text))
    return f"{text[:width]}|{text[width : width + _OVERFLOW]}"


def _starts(result: FitResult) -> list[Line]:
    rows: list[tuple[Cell, ...]] = [
        (
            str(number),
            start.name,
            f"asks {_gib(start.requested_bytes)}",
            f"sees {_gib(start.free_bytes)}",
            f"keeps {_gib(start.resident_bytes)}",
            Span("passes", Style.GOOD) if start.passes else Span("refused", Style.BAD),
        )
        for number, start in enumerate(result.starts, 1)
    ]
    return [heading("order of starting", "each when the one before is ready"), *table(rows)]


def _solved(result: FitResult) -> list[Line]:
    rows: list[tuple[Cell, ...]] = [
        (
            item.knob,
            Span(item.value or "nothing works", Style.STRONG),
            Span(item.question, Style.DIM),
        )
        for item in result.solved
    ]
    return [heading("solved"), *table(rows)]


def _alternatives(result: FitResult) -> list[Line]:
    now = result.plan
    rows: list[tuple[Cell, ...]] = [
        (
            item.change,
            f"{item.tokens:,} tokens",
            f"{item.concurrency:.2f}x",
            Span(f"{100 * (item.concurrency / now.concurrency - 1):+.0f} %", Style.DIM)
            if now.concurrency
            else "",
        )
        for item in result.alternatives
    ]
    return [heading("the same pool", "with other flags"), *table(rows, right=frozenset({1, 2, 3}))]


def _gib(count: int) -> str:
    return f"{count / _GIB:.2f} GiB"
