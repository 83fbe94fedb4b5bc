"""An image as text: what is in it, then its layers and device code."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sparkproof.core.observations.image import ImageObservation, LayerSeen, PackageSeen, ToolSeen
from sparkproof.core.results.image import Change, ImageDiffResult, ImageResult
from sparkproof.core.units import format_bytes
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table
from sparkproof.render.wheel_text import render_wheel

_COMMAND_CHARS = 70


def render_image(result: ImageResult) -> list[Line]:
    """Who it is, packages, programs, layers, then device code as for a wheel."""
    image = result.image
    lines = [heading("image", image.name), *table(_rows(result)), *table(_names(result))]
    lines += [line(), heading("packages", f"{len(image.installed)} in Python's folders")]
    lines += table(_package_row(item) for item in image.packages)
    lines += [line(), heading("programs")]
    lines += table(_tool_row(item) for item in image.tools)
    lines += [line(), heading("layers", "lowest first")]
    lines += table(
        (_layer_row(number, item) for number, item in enumerate(image.layers)),
        right=frozenset({1, 2}),
    )
    # The libraries one by one are in the document; here they would bury the answer.
    return [*lines, line(), *render_wheel(msgspec.structs.replace(result.code, libraries=()))]


def render_image_diff(result: ImageDiffResult) -> list[Line]:
    """One row a change."""
    lines = [heading("from", _title(result.before)), heading("to  ", _title(result.after))]
    kind = ""
    for change in result.changes:
        if change.what != kind:
            kind = change.what
            lines += [line(), heading(kind)]
            lines += table(_change_row(c) for c in result.changes if c.what == kind)
    return lines


def _title(result: ImageResult) -> str:
    return result.pin or f"{result.image.name} ({result.image.config_digest[:19]}…)"


def _rows(result: ImageResult) -> Iterator[tuple[Cell, ...]]:
    image = result.image
    copy = image.vllm
    if copy is not None:
        commit = f", commit {copy.commit}" if copy.commit else ""
        yield (
            "vllm",
            Span(copy.number or "of no stated version", Style.STRONG),
            f"in /{copy.folder}{commit}",
        )
    cuda = [f"vLLM links CUDA {result.cuda}"] if result.cuda else []
    cuda += [f"torch is for {image.torch_cuda}"] if image.torch_cuda else []
    if cuda:
        yield "cuda", ", ".join(cuda)
    if image.python or image.python_version:
        yield "python", f"{image.python} {image.python_version}".strip(), _told(image)
    yield "platform", f"{image.os}/{image.architecture}", image.distribution
    age = f"{result.age_days} days ago" if result.age_days >= 0 else ""
    yield "built", image.created or "not told", age


def _names(result: ImageResult) -> Iterator[tuple[Cell, ...]]:
    """Rows whose values are long; padded to the words of `_rows`."""
    image = result.image
    if result.pin:
        yield "pin     ", result.pin
    yield "id      ", image.config_digest
    if started := " ".join((*image.entrypoint, *image.cmd)):
        yield "starts  ", started[:_COMMAND_CHARS]


def _told(image: ImageObservation) -> Span:
    return Span(image.python_told_by, Style.DIM if image.python_certain else Style.WARN)


def _package_row(item: PackageSeen) -> tuple[Cell, ...]:
    note = "" if item.judged else "hidden behind another, or in a folder Python does not look into"
    return item.name, item.version, Span(f"/{item.folder}", Style.DIM), Span(note, Style.WARN)


def _tool_row(item: ToolSeen) -> tuple[Cell, ...]:
    style = Style.GOOD if item.reachable else Style.WARN
    where = item.path or "by the package database"
    return (
        item.name,
        item.version,
        Span("found" if item.reachable else "not on the path", style),
        where,
    )


def _layer_row(number: int, item: LayerSeen) -> tuple[Cell, ...]:
    stored = format_bytes(item.stored_bytes) if item.stored_bytes else ""
    size = format_bytes(item.size_bytes) if item.size_bytes else "not read"
    step = item.command[:_COMMAND_CHARS] or "no build step told"
    return f"{number}", stored, size, Span(step, Style.DIM)


def _change_row(change: Change) -> tuple[Cell, ...]:
    return (
        change.name,
        Span(change.before or "absent", Style.DIM),
        "->",
        Span(change.after or "absent", Style.STRONG),
    )
