"""What a new release does to deployments, as text: what bites first, then the deployment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkproof.core.results.upgrade import (
    Action,
    Bite,
    Change,
    DeploymentUpgrade,
    Edit,
    UpgradeResult,
)
from sparkproof.core.units import plural
from sparkproof.render.lines import Line, Span, Style, Verbatim, heading, line
from sparkproof.render.report_text import VERDICT_STYLE

_STYLES = {
    Bite.WONT_START: Style.BAD,
    Bite.KERNEL: Style.WARN,
    Bite.SIZE: Style.WARN,
    Bite.BEHAVIOUR: Style.WARN,
    Bite.LIFTED: Style.GOOD,
}


def render_upgrade(result: UpgradeResult, *, verbose: bool = False) -> list[Line]:
    """Every deployment in turn; deployments that nothing touches in one line each."""
    lines: list[Line] = []
    for item in result.deployments:
        lines += [*_deployment(item, verbose=verbose), line()]
    return lines[:-1]


def _deployment(item: DeploymentUpgrade, *, verbose: bool) -> Iterator[Line]:
    yield line(
        Span(item.name, Style.STRONG),
        f"  vllm {item.before} -> {item.after}  ",
        Span(item.verdict.value, VERDICT_STYLE[item.verdict]),
    )
    if not item.changes and not item.standing:
        yield line("  nothing that touches it changes")
        return
    yield from _by_bite(item.changes, verbose=verbose)
    if item.standing:
        yield line(Span("  wrong on both releases", Style.STRONG))
        for change in item.standing:
            yield from _change(change, verbose=verbose)
    yield from _steps(item)
    yield from _wanted(item)


def _steps(item: DeploymentUpgrade) -> Iterator[Line]:
    """What each release on the way brings; those that bring nothing in one line."""
    quiet = [step.after for step in item.steps if not step.changes]
    for step in item.steps:
        if step.changes:
            yield line(Span(f"  {step.before} -> {step.after}", Style.STRONG))
        for change in step.changes:
            yield line(f"    {change.bite.value}: {change.subject}: {change.message}")
    if quiet:
        yield line(Span(f"  nothing that touches it: {', '.join(quiet)}", Style.DIM))


def _by_bite(changes: Sequence[Change], *, verbose: bool) -> Iterator[Line]:
    for bite in Bite:
        found = [change for change in changes if change.bite is bite]
        if found:
            yield line("  ", Span(bite.value, _STYLES[bite]))
            for change in found:
                yield from _change(change, verbose=verbose)


def _change(change: Change, *, verbose: bool) -> Iterator[Line]:
    since = f"  (since {change.release})" if change.release else ""
    yield line(
        "    ", Span(change.subject, Style.STRONG), f"  {change.message}", Span(since, Style.DIM)
    )
    if change.before or change.after:
        yield line(Span(f"      {_arrow(change)}", Style.DIM))
    for edit in change.edits:
        word = "to keep it as it is: " if change.optional else ""
        if change.optional and change.bite is Bite.LIFTED:
            word = "try without the workaround: "
        yield line("      ", Span(f"{word}{_told(edit)}", Style.GOOD))
    if verbose:
        for item in change.evidence:
            yield line(Span(f"      {item.place}: {item.what}", Style.DIM))
        yield line(
            Span(f"      rests on: {change.rests_on} ({change.confidence.value})", Style.DIM)
        )


def _arrow(change: Change) -> str:
    return f"{change.before or '-'} -> {change.after or '-'}"


def _told(edit: Edit) -> str:
    """What to type: ``drop --flag``, ``add --flag value``."""
    name = ".".join((edit.name, *edit.key))
    if edit.action is Action.DROP:
        return f"drop {name}"
    joint = "=" if edit.variable else " "
    return f"{edit.action.value} {joint.join(filter(None, (name, edit.value)))}"


def _wanted(item: DeploymentUpgrade) -> Iterator[Line]:
    if item.unresolved:
        count = plural(len(item.unresolved), "obstacle")
        yield line(Span(f"  no edit helps against {count}", Style.BAD))
        for change in item.unresolved:
            yield line(f"    {change.subject}: {change.message}")
        return
    if not _edited(item.changes, item.standing):
        yield line(Span("  the deployment stays as it is, on the new artifact", Style.DIM))
        return
    yield heading("  the deployment as it should be")
    for text in item.toml.splitlines():
        yield line(Verbatim(f"    {text}".rstrip()))


def _edited(*groups: Iterable[Change]) -> bool:
    return any(change.edits and not change.optional for group in groups for change in group)
