"""A proof as text: the three links as an operator wants to read them."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerFormat
from sparkproof.core.results.proof import (
    Agreement,
    Branch,
    Delivery,
    LayerProof,
    Memory,
    ProofResult,
)
from sparkproof.core.text import shorten as cut
from sparkproof.core.units import plural
from sparkproof.core.verdict import Verdict
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table
from sparkproof.render.page import page_width
from sparkproof.render.report_text import VERDICT_STYLE
from sparkproof.render.shown_text import render_shown
from sparkproof.render.walk_text import layer_name, render_walk

_SHARE = "--gpu-memory-utilization"
_KNOWN_PLACES = ("config.json: ", "quantization_config.")
_EVIDENCE_CHARS = 96


def render_proof(result: ProofResult, *, verbose: bool = False) -> list[Line]:
    """Declare, select and deliver, then what would change it; evidence in full with `verbose`."""
    return [
        *_declare(result.profile, verbose=verbose),
        line(),
        heading("select", _selected_by(result)),
        *(item for branch in result.branches for item in _select(branch, verbose=verbose)),
        line(),
        heading("deliver", _delivered_to(result)),
        *(item for branch in result.branches for item in _deliver(branch)),
        *_fit(result.memory),
        *render_shown(result.shown),
        *_boot_log(result),
        *_alternatives(result),
    ]


def _delivered_to(result: ProofResult) -> str:
    built = f", from code built with CUDA {result.toolkit}" if result.toolkit else ""
    return f"to {result.device}, compute capability {result.capability}{built}"


def _selected_by(result: ProofResult) -> str:
    arguments = " ".join(result.deployment.args)
    return f"by vllm {result.release}" + (f" with {arguments}" if arguments else "")


def _declare(profile: CheckpointProfile, *, verbose: bool) -> Iterator[Line]:
    method = profile.quant_method or "unquantized"
    yield heading("declare", f"{', '.join(profile.architectures) or profile.name}, {method}")
    if profile.reconstructed:
        told = f"  reconstructed: {profile.reconstructed}"
        yield line(Span(told if verbose else cut(told, page_width()), Style.DIM))
    rows: dict[tuple[str, ...], list[str]] = {}
    for item in profile.formats:
        why = _why(item, verbose=verbose)
        rows.setdefault((item.layers, item.scheme.value, why), []).append(item.layer_class.value)
    yield from table(
        (", ".join(classes), layers, scheme, Span(why, Style.DIM))
        for (layers, scheme, why), classes in rows.items()
    )


def _why(item: LayerFormat, *, verbose: bool) -> str:
    """What it rests on; without the file where there is only one that it can be."""
    if not item.evidence:
        return ""
    place, what = item.evidence[0].place, item.evidence[0].what
    if verbose:
        return f"{place}: {what}"
    for known in _KNOWN_PLACES:
        place = place.removeprefix(known)
    return cut(f"{place}: {what}", _EVIDENCE_CHARS)


def _branch_title(branch: Branch) -> list[Line]:
    if not branch.assumptions:
        return []
    told = ", ".join(f"{k.partition(':')[2] or k}: {v}" for k, v in branch.assumptions.items())
    return [line(Span(f"  if {told}", Style.STRONG))]


def _select(branch: Branch, *, verbose: bool) -> Iterator[Line]:
    yield from _branch_title(branch)
    for layers in _grouped(branch.layers):
        subjects = ", ".join(dict.fromkeys(layer_name(layer) for layer in layers))
        yield from render_walk(layers[0], subjects, verbose=verbose)


def _grouped(layers: tuple[LayerProof, ...]) -> list[list[LayerProof]]:
    """Layer classes that one oracle treats alike, together."""
    groups: dict[object, list[LayerProof]] = {}
    for layer in layers:
        prediction = layer.prediction
        key = (
            (prediction.oracle, prediction.scheme, prediction.steps)
            if prediction is not None
            else layer.subject
        )
        groups.setdefault(key, []).append(layer)
    return list(groups.values())


def _deliver(branch: Branch) -> Iterator[Line]:
    yield from _branch_title(branch)
    rows: dict[tuple[object, ...], tuple[LayerProof, Delivery, list[str]]] = {}
    for layer in branch.layers:
        for item in layer.deliveries:
            key = (item.what, item.name, item.verdict)
            rows.setdefault(key, (layer, item, []))[2].append(layer.subject)
    yield from table(
        row
        for _, item, subjects in rows.values()
        for row in _delivery_rows(item, list(dict.fromkeys(subjects)))
    )
    for layer in branch.layers:
        if not layer.deliveries and layer.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE):
            yield line(
                "  ",
                Span(layer.verdict.value, VERDICT_STYLE[layer.verdict]),
                f"  {layer_name(layer)}  {layer.reason}",
            )


def _delivery_rows(item: Delivery, subjects: list[str]) -> Iterator[tuple[Cell, ...]]:
    """What is needed, by whom; below it, how it gets there."""
    warned = item.warning and item.verdict is Verdict.PASS
    word = "warn" if warned else item.verdict.value
    style = Style.WARN if warned else VERDICT_STYLE[item.verdict]
    yield (
        Span(word, style),
        item.name,
        line(f"{item.what}  ", Span(", ".join(subjects), Style.DIM)),
    )
    amount = f"{plural(item.kernels, 'kernel')}, {', '.join(item.archs)}: " if item.kernels else ""
    yield "", "", Span(f"{amount}{item.reason}", style if warned else Style.DIM)


def _fit(memory: Memory | None) -> Iterator[Line]:
    if memory is None:
        return
    yield line()
    plan = memory.plan
    yield heading("fit", f"in {plan.device_memory_gib:.2f} GiB" if plan is not None else "")
    yield line(f"  {memory.summary}")
    if plan is not None and plan.low is not None and plan.high is not None:
        told = f"  {plan.low.tokens:,} to {plan.high.tokens:,} tokens in four boots of five"
        yield line(Span(told, Style.DIM))
    for item in plan.solved if plan is not None else ():
        if item.value and item.knob == _SHARE:
            yield line("  ", Span(f"{item.knob} {item.value}", Style.STRONG), f"  {item.question}")
    yield from (line(Span(f"  {note}", Style.DIM)) for note in memory.notes)


def _boot_log(result: ProofResult) -> Iterator[Line]:
    if result.boot_log is None:
        return
    yield line()
    yield heading("boot log", f"{result.boot_log.log}, boot {result.boot_log.boot}")
    word = {True: Span("agrees", Style.GOOD), False: Span("differs", Style.BAD)}
    yield from table(
        (
            word[row.agrees] if row.agrees is not None else _open(row),
            row.name,
            row.predicted,
            row.observed if row.agrees is not True else "",
            Span(row.likely if row.agrees is False else "", Style.DIM),
        )
        for row in result.boot_log.rows
    )
    if result.boot_log.note:
        yield line(Span(f"  {result.boot_log.note}", Style.DIM))


def _open(row: Agreement) -> Span:
    return Span("not told" if row.predicted else "not proven", Style.DIM)


def _alternatives(result: ProofResult) -> Iterator[Line]:
    if not result.alternatives:
        return
    yield line()
    yield heading("what would change it", "each proven the same way")
    for item in result.alternatives:
        yield line(
            "  ",
            Span(item.verdict.value, VERDICT_STYLE[item.verdict]),
            "  ",
            Span(item.change, Style.STRONG),
        )
        yield from (line(f"        {told}") for told in item.summary.split(" | "))
