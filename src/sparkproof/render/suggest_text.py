"""A suggested deployment as text: the file to save, why each line, what to soak, what to try."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.results.suggest import SuggestResult
from sparkproof.render.lines import Line, Span, Style, Verbatim, heading, line, table
from sparkproof.render.report_text import VERDICT_STYLE


def render_suggest(result: SuggestResult, *, verbose: bool = False) -> list[Line]:
    """All of it; candidates that were tried with `verbose`."""
    lines = [heading("suggest", f"for {result.purpose}, on vllm {result.release}")]
    lines += [line(Verbatim(f"  {text}".rstrip())) for text in result.toml.splitlines()]
    lines += _left_out(result)
    if result.plan is not None:
        plan = result.plan
        lines += [
            line(),
            heading("expect"),
            line(
                f"  {plan.tokens:,} tokens of cache, {plan.concurrency:.2f}x at "
                f"{plan.max_model_len:,}, blocks of {plan.block_size:,}"
            ),
        ]
    if result.soak:
        lines += [line(), heading("soak first")]
        lines += [line(f"  {item}") for item in result.soak]
    lines += [line(), heading("if it fails")]
    lines += table((rung.trouble, rung.change) for rung in result.ladder)
    lines += _tried(result, verbose=verbose)
    return lines


def _left_out(result: SuggestResult) -> Iterator[Line]:
    left = [item for item in result.lines if item.left_out]
    if left:
        yield line()
        yield heading("left out on purpose")
        yield from table((item.name, f"{item.reason} [{item.rests_on}]") for item in left)


def _tried(result: SuggestResult, *, verbose: bool) -> Iterator[Line]:
    if not verbose:
        return
    yield line()
    yield heading("tried")
    for item in result.tried:
        yield line("  ", Span(item.verdict.value, VERDICT_STYLE[item.verdict]), f"  {item.reason}")
        yield line(Span(f"    {' '.join(item.args)}", Style.DIM))
