"""A selection as text: side by side, the walks, what was reported, what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sparkproof.core.field_report import DeviceClass, Effect, FieldRecord
from sparkproof.core.results.proof import LayerProof
from sparkproof.core.results.select import (
    Fate,
    FlagChoice,
    LayerSelection,
    Selection,
    SelectionBranch,
    SelectResult,
    Told,
)
from sparkproof.core.units import plural
from sparkproof.core.verdict import Verdict
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table
from sparkproof.render.page import page_width
from sparkproof.render.report_text import VERDICT_STYLE
from sparkproof.render.walk_text import layer_name, render_walk, shorten

_STYLES = {
    Fate.REFUSES: Style.BAD,
    Fate.CRASHES: Style.BAD,
    Fate.REPORTED: Style.BAD,
    Fate.UNDECIDED: Style.WARN,
    Fate.GUESSED: Style.WARN,
    Fate.SLOW: Style.WARN,
    Fate.JIT: Style.WARN,
    Fate.NOT_LOADED: Style.DIM,
}
_DETAILED = (Fate.REFUSES, Fate.CRASHES, Fate.REPORTED, Fate.UNDECIDED)
_LABEL_COLUMNS, _CELL_COLUMNS = 24, 38
"""Of the page: what the names of layers take, and what every checkpoint beside them."""
_DEVICES = (
    (DeviceClass.GB10, "GB10"),
    (DeviceClass.SM12X, "other 12.x"),
    (DeviceClass.OTHER, "other GPUs"),
)


def render_select(result: SelectResult, *, verbose: bool = False) -> list[Line]:
    """All of it; of several checkpoints, the walks and every flag's effect with `verbose` only."""
    lines: list[Line] = []
    columns = result.columns
    beside = max((page_width() - _LABEL_COLUMNS) // _CELL_COLUMNS, 1)
    for start in range(0, len(columns), beside):
        lines += [*_table(result, columns[start : start + beside]), line()]
    brief = len(columns) > 1 and not verbose
    if not brief:
        lines += [heading("why", "each candidate in the order in which it is asked")]
        lines += _walks(columns, verbose=verbose)
    told = [item for column in columns for item in _details(column, several=len(columns) > 1)]
    lines += told
    lines += _reports(columns, verbose=verbose, apart=bool(told) or not brief)
    lines += _changes(columns, verbose=verbose, brief=brief)
    if brief:
        note = "each candidate's reason, and what every flag changes: -v, or one checkpoint alone"
        lines += [line(), line(Span(note, Style.DIM))]
    return lines


def _table(result: SelectResult, columns: Sequence[Selection]) -> Iterator[Line]:
    yield heading("select", f"on {result.device}, compute capability {result.capability}")
    rows: list[Sequence[Cell]] = [
        ("", *(Span(item.name, Style.STRONG) for item in columns)),
        ("declared", *(item.method or "unquantized" for item in columns)),
        ("release", *(_release(item) for item in columns)),
    ]
    if any(item.args for item in columns):
        rows.append(("with", *(" ".join(item.args) for item in columns)))
    first: dict[tuple[tuple[Span, ...], ...], list[str]] = {}
    for assumptions in _assumed(columns):
        found = _layer_rows([_branch_of(item, assumptions) for item in columns])
        other = {cells: names for cells, names in found.items() if first.get(cells) != names}
        if assumptions:
            title = Span(f"if {_assumption(assumptions)}", Style.STRONG)
            same = "where it differs" if other else "the same"
            rows.append((title, Span(same if first else "", Style.DIM)))
        rows += [row for cells, names in other.items() for row in _cell_rows(names, cells)]
        first = first or found
    yield from table([*rows, *_shown(columns)])


def _shown(columns: Sequence[Selection]) -> Iterator[Sequence[Cell]]:
    """What a server showed of each, a row a gate; nothing where no receipt speaks of any."""
    gates = dict.fromkeys(item.command for column in columns for item in column.shown or ())
    for gate in gates:
        found = [next((i for i in c.shown or () if i.command == gate), None) for c in columns]
        cells = (
            Span(f"{item.verdict.value} on {item.created_at[:10]}", VERDICT_STYLE[item.verdict])
            if item is not None
            else Span("not yet", Style.DIM)
            for item in found
        )
        yield (f"shown here: {gate}", *cells)


def _release(item: Selection) -> str:
    return f"vllm {item.release}" + ("" if item.delivery_known else ", delivery unknown")


def _assumed(columns: Sequence[Selection]) -> list[dict[str, str]]:
    found = [branch.assumptions for item in columns for branch in item.branches]
    stated = [item for index, item in enumerate(found) if item not in found[:index]]
    return [item for item in stated if item] or [{}]


def _branch_of(item: Selection, assumptions: dict[str, str]) -> SelectionBranch:
    """The column's branch under these assumptions; its only one where nothing was open."""
    return next((b for b in item.branches if b.assumptions == assumptions), item.branches[0])


def _layer_rows(
    branches: Sequence[SelectionBranch],
) -> dict[tuple[tuple[Span, ...], ...], list[str]]:
    """A row a layer class and format; classes that get the same everywhere share one."""
    rows: dict[tuple[tuple[Span, ...], ...], list[str]] = {}
    subjects = dict.fromkeys(layer.proof.subject for b in branches for layer in b.layers)
    for subject in subjects:
        each = [[item for item in b.layers if item.proof.subject == subject] for b in branches]
        for number in range(max(map(len, each))):
            cells = tuple(_cell(items[number]) if number < len(items) else () for items in each)
            if any(cells):
                rows.setdefault(cells, []).append(subject)
    return {cells: list(dict.fromkeys(named)) for cells, named in rows.items()}


def _cell_rows(names: Sequence[str], cells: Sequence[tuple[Span, ...]]) -> Iterator[Sequence[Cell]]:
    label = ", ".join(names)
    for number in range(max(map(len, cells))):
        here = [cell[number] if number < len(cell) else Span("") for cell in cells]
        yield label if not number else "", *here


def _cell(item: LayerSelection) -> tuple[Span, ...]:
    """Scheme and layers, backend, and the outcome's words; plain layers in one line."""
    proof, fates = item.proof, [told.fate for told in item.told]
    if fates == [Fate.NOT_LOADED]:
        return (Span(Fate.NOT_LOADED.value, Style.DIM),)
    scheme = " ".join(filter(None, (proof.scheme, f"({proof.layers})" if proof.layers else "")))
    if fates == [Fate.UNQUANTIZED]:
        return (Span(scheme),) if scheme else ()
    words = [fate.value for fate in fates if fate is not Fate.ATTENTION]
    selected = proof.prediction.selected if proof.prediction is not None else ""
    lines = [Span(text) for text in (scheme, selected or proof.backend) if text]
    if not words:
        return tuple(lines) if selected else ()
    style = _STYLES.get(fates[0], Style.GOOD)
    return (*lines, Span(f"  {', '.join(words)}", style))


class _Named(NamedTuple):
    """Layer classes of one column that share something, each with the branches it holds in."""

    column: Selection
    branches: dict[str, list[SelectionBranch]]

    def add(self, proof: LayerProof, branch: SelectionBranch) -> None:
        self.branches.setdefault(layer_name(proof), []).append(branch)

    def __str__(self) -> str:
        return ", ".join(map(self._one, self.branches))

    def _one(self, name: str) -> str:
        here = [b.assumptions for b in self.branches[name]]
        if all(branch.assumptions in here for branch in self.column.branches):
            return name
        told = "; ".join(dict.fromkeys(map(_assumption, here)))
        return f"{name} [{told}]"


def _assumption(assumptions: dict[str, str]) -> str:
    return ", ".join(f"{k.partition(':')[2] or k}: {v}" for k, v in assumptions.items())


def _walks(columns: Sequence[Selection], *, verbose: bool) -> Iterator[Line]:
    """Every different walk once, with the columns and layer classes that share it."""
    walks: dict[object, tuple[LayerProof, dict[str, _Named]]] = {}
    for column in columns:
        for branch in column.branches:
            for layer in branch.layers:
                found = layer.proof.prediction
                if found is None or not found.oracle:
                    continue
                key = (found.oracle, found.scheme, found.steps, found.error)
                sharing = walks.setdefault(key, (layer.proof, {}))[1]
                named = sharing.setdefault(column.name, _Named(column, {}))
                named.add(layer.proof, branch)
    for proof, sharing in walks.values():
        yield from render_walk(proof, _sharing(sharing, len(columns)), verbose=verbose)


def _sharing(named: dict[str, _Named], columns: int) -> str:
    told = (str(item) if columns == 1 else f"{owner}: {item}" for owner, item in named.items())
    return "; ".join(told)


def _details(column: Selection, *, several: bool) -> Iterator[Line]:
    """What stands behind the words that name trouble."""
    told: dict[tuple[Fate, str, str], _Named] = {}
    for branch in column.branches:
        for layer in branch.layers:
            for item in layer.told:
                if item.fate in _DETAILED:
                    key = (item.fate, item.detail, _sure(item))
                    told.setdefault(key, _Named(column, {})).add(layer.proof, branch)
    for (fate, detail, sure), named in told.items():
        owner = f"{column.name}: " if several else ""
        yield line(
            "  ",
            Span(fate.value, _STYLES[fate]),
            f"  {owner}{named}: {detail}",
            Span(f"  ({sure})", Style.DIM),
        )


def _sure(item: Told) -> str:
    return item.confidence.value


def _reports(columns: Sequence[Selection], *, verbose: bool, apart: bool) -> Iterator[Line]:
    found: dict[FieldRecord, list[str]] = {}
    for column in columns:
        for branch in column.branches:
            for layer in branch.layers:
                for record in layer.reports:
                    found.setdefault(record, []).append(layer.proof.subject)
    if not found:
        return
    if apart:
        yield line()
    yield heading("reported", "of these picks in the field, by device; none of it is this box")
    yield from table(_report_row(record, subjects) for record, subjects in found.items())
    for record in found if verbose else ():
        yield line(Span(f"  {record.id}", Style.STRONG))
        for item in record.reports:
            device = dict(_DEVICES)[item.device]
            yield line(Span(f"    {device}, {item.date}: {item.seen} [{item.source}]", Style.DIM))


def _report_row(record: FieldRecord, subjects: Sequence[str]) -> Sequence[Cell]:
    counts = ", ".join(f"{word}: {record.count(kind)}" for kind, word in _DEVICES)
    style = Style.BAD if record.bad else Style.GOOD if record.effect is Effect.WORKS else Style.WARN
    settled = "" if record.certain or not record.bad else " (not settled)"
    return (
        Span(record.effect.value, style),
        counts,
        f"vllm {record.releases}" if record.releases else "any release",
        record.title + settled,
        Span(", ".join(dict.fromkeys(subjects)), Style.DIM),
    )


def _changes(columns: Sequence[Selection], *, verbose: bool, brief: bool) -> Iterator[Line]:
    for column in columns:
        owner = f"{column.name}: " if len(columns) > 1 else ""
        choices = () if brief else column.choices
        useful = [item for item in choices if _is_useful(item) or verbose]
        if not useful and not column.changes:
            continue
        yield line()
        yield heading("what would change it", f"{owner}each tried the same way")
        for change in column.changes:
            yield _change_line(change.verdict, change.change)
            yield from (line(f"        {told}") for told in change.summary.split(" | "))
        for group in _alike(useful):
            yield from _choice(group)
        if any(item.half for item in useful):
            note = "a backend flag alone leaves the layers of the other one as they are"
            yield line(Span(f"  {note}", Style.DIM))
        left = len(choices) - len(useful)
        if left:
            told = plural(left, "other value")
            yield line(
                Span(f"  {told} end in an error or change nothing: -v shows them", Style.DIM)
            )


def _is_useful(item: FlagChoice) -> bool:
    return bool(item.leads_to) and not item.error and not item.idle


def _alike(choices: Sequence[FlagChoice]) -> list[list[FlagChoice]]:
    """Values of one flag that come to the same, together."""
    groups: dict[object, list[FlagChoice]] = {}
    for item in choices:
        key = (item.flag, item.leads_to, item.against, item.error, item.reason, item.accepted)
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def _change_line(verdict: Verdict, change: str) -> Line:
    told = "picked" if verdict is Verdict.SKIPPED else verdict.value
    word = Span(told, VERDICT_STYLE[verdict])
    return line("  ", word, "  ", Span(change, Style.STRONG))


def _choice(group: Sequence[FlagChoice]) -> Iterator[Line]:
    first = group[0]
    yield _change_line(first.verdict, f"{first.flag} {' | '.join(item.value for item in group)}")
    for text in (first.leads_to, first.reason if not first.error else "", shorten(first.error)):
        if text:
            yield line(f"        {text}")
    for reason in first.against:
        yield line("        ", Span("against", Style.WARN), f"  {reason}")
