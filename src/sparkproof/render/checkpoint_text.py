"""A checkpoint as text: what it is, then one line a layer class."""

from __future__ import annotations

from collections.abc import Iterable

from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, QuantScheme
from sparkproof.core.observations.state_layout import LayerState, StateLayout
from sparkproof.core.results.checkpoint import CheckpointLine, CheckpointResult
from sparkproof.core.units import format_bytes, plural
from sparkproof.render.lines import Cell, Line, Span, Style, heading, line, table


def render_checkpoint(result: CheckpointResult, *, verbose: bool = False) -> list[Line]:
    """What it is, its layers, and with `verbose` what each line rests on."""
    profile = result.profile
    what = ", ".join((*profile.architectures[:2], profile.model_type)) or "no architecture"
    lines = [heading("checkpoint", f"{profile.name}  {what}"), *table(_facts(result))]
    title = f"as vLLM {result.release} reads them" if result.release else ""
    lines += [line(), heading("layers", title)]
    if any(item.stored is not None for item in result.lines):
        lines += table(_rows(result), right=frozenset({4, 5, 6} if result.release else {3, 4, 5}))
    else:
        lines += table(_declared_rows(result))
    if verbose:
        lines += [line(), heading("evidence"), *table(_evidence(result.lines))]
    return lines


def _facts(result: CheckpointResult) -> Iterable[tuple[Cell, ...]]:
    profile = result.profile
    yield "format", Span(result.label, Style.STRONG), Span(_method(profile), Style.DIM)
    stored = profile.stored
    if stored:
        size = f"{format_bytes(stored.bytes)} in {plural(stored.shards, 'shard')}"
        count = f"{_count(stored.parameters)} parameters in {stored.tensors:,} tensors"
        yield "weights", size, Span(count, Style.DIM)
        if result.read_bytes >= 0:
            draft = f", a draft step {format_bytes(stored.draft_bytes)} at most"
            met = f"{_met(profile)}{draft if stored.draft_bytes else ''}"
            yield "one token reads", format_bytes(result.read_bytes), Span(met, Style.DIM)
    if profile.max_position:
        yield "context", f"{profile.max_position:,} tokens"
    if profile.state:
        yield "state", _state(profile.state)
    if profile.kv_cache_scheme or (stored and stored.kv_scales):
        scales = f"{plural(stored.kv_scales, 'scale')} stored" if stored else ""
        yield "kv cache", profile.kv_cache_scheme or "not declared", Span(scales, Style.DIM)
    if profile.draft_layers:
        yield "draft", plural(profile.draft_layers, "layer")
    family = profile.family or "not in the book"
    yield "family", family


def _count(number: int) -> str:
    """``30.5 billion``, ``1.44 million``: three digits."""
    for word, size in (("billion", 10**9), ("million", 10**6)):
        if number >= size:
            return f"{number / size:.3g} {word}"
    return f"{number:,}"


def _method(profile: CheckpointProfile) -> str:
    words = (profile.quant_method, profile.quant_algo)
    return " ".join(word for word in words if word) or "nothing declared"


def _met(profile: CheckpointProfile) -> str:
    state = profile.state
    if not profile.num_experts or not state or not state.experts_per_token:
        return "output layer once, of the embedding one row"
    return f"{state.experts_per_token} of {profile.num_experts} experts"


def _state(state: StateLayout) -> str:
    return " + ".join(_kept(layer) for layer in state.layers) or "not known"


def _kept(layer: LayerState) -> str:
    text = f"{layer.count} {layer.kind.value}"
    shape = layer.attention
    if shape:
        text += f" ({shape.kv_heads} x {shape.head_dim}"
        text += f", window {shape.window})" if shape.window else ")"
    return text


def _declared_rows(result: CheckpointResult) -> Iterable[tuple[Cell, ...]]:
    """What there is to say where no tensor was read."""
    names = ("layer class", "declared", *(("run as",) if result.release else ()), "which")
    yield tuple(Span(name, Style.DIM) for name in names)
    for item in result.lines:
        run = (_run_as(item),) if result.release else ()
        yield (item.layer_class.value, item.declared.value, *run, item.layers)


def _rows(result: CheckpointResult) -> Iterable[tuple[Cell, ...]]:
    names = ["layer class", "declared", "stored", "tensors", "bytes", "token reads", "which"]
    if result.release:
        names.insert(3, "run as")
    yield tuple(Span(name, Style.DIM) for name in names)
    for item in result.lines:
        row: list[Cell] = [
            item.layer_class.value,
            item.declared.value,
            _stored(item),
            f"{item.tensors:,}" if item.stored else "",
            format_bytes(item.bytes) if item.stored else "",
            _reads(item),
            item.layers,
        ]
        if result.release:
            row.insert(3, _run_as(item))
        yield tuple(row)
    stored = result.profile.stored
    if stored and stored.rest_tensors:
        rest: list[Cell] = [
            Span("norms and others", Style.DIM),
            "",
            "",
            f"{stored.rest_tensors:,}",
            format_bytes(stored.rest_bytes),
            format_bytes(stored.rest_bytes),
        ]
        if result.release:
            rest.insert(3, "")
        yield tuple(rest)


def _stored(item: CheckpointLine) -> Cell:
    if item.stored is None:
        return Span("not read", Style.DIM)
    if item.stored is QuantScheme.UNKNOWN:
        return Span(item.stored.value, Style.WARN)
    return Span(item.stored.value, Style.BAD) if item.differs else item.stored.value


def _run_as(item: CheckpointLine) -> Cell:
    if item.refusal:
        return Span("refused", Style.BAD)
    if item.doubt:
        return Span("unknown", Style.WARN)
    if item.run_as is None:
        return Span("", Style.DIM)
    return Span(item.run_as.value, Style.WARN if item.run_as is not item.declared else Style.PLAIN)


def _reads(item: CheckpointLine) -> Cell:
    if item.stored is None:
        return ""
    return format_bytes(item.read_bytes) if item.read_bytes >= 0 else Span("unknown", Style.WARN)


def _evidence(lines: Iterable[CheckpointLine]) -> Iterable[tuple[Cell, ...]]:
    for item in lines:
        first = item.layer_class.value
        if item.detail:
            yield first, Span("reading", Style.DIM), item.detail
        for evidence in item.evidence:
            yield first, Span(evidence.place, Style.DIM), evidence.what
        if item.refusal or item.doubt:
            yield first, Span("release", Style.DIM), item.refusal or item.doubt
