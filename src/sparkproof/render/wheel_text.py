"""Device code as text: one row a kernel family, one a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkproof.core.delivery import NOT_WORKING, Alternative, FamilyRoute, JitPart, Route
from sparkproof.core.results.wheel import LibraryRow, WheelResult
from sparkproof.core.units import format_bytes, plural
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table

_STYLE = {
    Route.NATIVE: Style.GOOD,
    Route.FAMILY: Style.GOOD,
    Route.SAME_MAJOR: Style.GOOD,
    Route.PTX_JIT: Style.WARN,
    Route.NONE: Style.DIM,
    Route.DEAD_CODE: Style.BAD,
}


def render_wheel(result: WheelResult) -> list[Line]:
    """Families with their routes, then libraries with their architectures."""
    built = ", ".join((*(f"CUDA {tool}" for tool in result.toolkits), *result.cuda))
    lines: list[Line] = [line(Span("built with  ", Style.DIM), built)] if built else []
    if result.families:
        lines += [
            line(),
            heading(
                "kernel families", f"on {result.device}, compute capability {result.capability}"
            ),
        ]
        lines += table(map(_family_row, result.families))
    if result.alternatives:
        told = f"one is loaded, by {result.alternatives[0].chosen_by}; the best is counted above"
        lines += [line(), heading("one of several", told)]
        lines += table(map(_alternative_row, result.alternatives))
    if result.compiled_at_run_time:
        lines += [line(), heading("compiled at run time")]
        lines += _compiled(result.compiled_at_run_time)
    if result.libraries:
        lines += [line(), heading("libraries", "entries by architecture")]
        lines += table(_library_row(row) for row in result.libraries)
    if result.loose:
        lines += [line(), heading("loose files")]
        lines += table((row.folder, row.arch, plural(row.files, "file")) for row in result.loose)
    return lines


def _family_row(family: FamilyRoute) -> tuple[Cell, ...]:
    style = _STYLE[family.route]
    if family.route in NOT_WORKING and family.promised:
        style = Style.BAD
    archs = ", ".join(
        f"{count.arch} {count.kernels:,}" + (" dead" if count.route is Route.DEAD_CODE else "")
        for count in family.counts
        if count.arch
    )
    code = ", ".join(f"{total:,} {name}" for name, total in _opcodes(family).items())
    return (
        Span(family.route.value, style),
        family.family,
        archs or Span("nothing that loads", Style.DIM),
        line(family.title, Span(f"  {code}" if code else "", Style.DIM)),
    )


def _alternative_row(item: Alternative) -> tuple[Cell, ...]:
    return (
        Span(item.route.value, _STYLE[item.route]),
        item.library,
        f"{item.working:,} of {plural(item.kernels, 'kernel')}",
        Span("counted", Style.STRONG) if item.counted else "",
    )


def _opcodes(family: FamilyRoute) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in family.opcodes:
        if item.opcode != "BPT":
            found[item.opcode] = found.get(item.opcode, 0) + item.instructions
    return found


def _compiled(parts: Sequence[JitPart]) -> Iterator[Line]:
    """A row a package, then what each of them brings prebuilt."""
    yield from table(
        (
            Span(part.package, Style.STRONG),
            part.title,
            f"needs {' and '.join(part.tools)} on the box" if part.tools else "",
        )
        for part in parts
    )
    for part in parts:
        if part.prebuilt:
            yield line(Span(f"  prebuilt in {part.package}", Style.DIM))
        yield from table(
            (
                (Span(item.loads.value, _STYLE[item.loads]), item.arch, plural(item.files, "file"))
                for item in part.prebuilt
            ),
            indent=4,
        )


def _library_row(row: LibraryRow) -> tuple[Cell, ...]:
    archs = ", ".join(f"{arch} {count}" for arch, count in row.archs.items())
    linked = sum(row.relocatable.values())
    extra = f"; {linked} relocatable" if linked else ""
    return (
        row.path,
        format_bytes(row.size_bytes),
        plural(row.containers, "container"),
        (archs or "none") + extra,
    )
