"""From a layer class's proof to the words an operator reads. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkproof.core.field_report import DeviceClass, FieldRecord
from sparkproof.core.finding import Confidence
from sparkproof.core.results.proof import Delivery, LayerProof
from sparkproof.core.results.select import Fate, LayerSelection, Told
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Verdict
from sparkproof.facts.backend import Means, Speed, backends
from sparkproof.facts.field_records import Pick, records_of
from sparkproof.usecases.prove.branch import Look

_SLOW = (Speed.EMULATION,)
_RANK = tuple(Fate)


def outcome_of(
    look: Look, layer: LayerProof, arguments: SelectionArgs, device: DeviceClass
) -> LayerSelection:
    """The outcome of one layer class, and what people reported of the same pick."""
    records = reports_of(look, layer, arguments, device)
    told = sorted(_told(layer, records, device), key=lambda item: _RANK.index(item.fate))
    return LayerSelection(layer, tuple(told), records)


def reports_of(
    look: Look, layer: LayerProof, arguments: SelectionArgs, device: DeviceClass
) -> tuple[FieldRecord, ...]:
    """Field reports that speak of a pick: those of this class of device first."""
    records = records_of(_pick(look, layer, arguments))
    return tuple(sorted(records, key=lambda record: not record.count(device)))


def _pick(look: Look, layer: LayerProof, arguments: SelectionArgs) -> Pick:
    prediction = layer.prediction
    schemes = {item.effective.scheme.value for item in look.effective}
    return Pick(
        implementation=prediction.implementation if prediction is not None else "",
        subject=layer.subject,
        scheme=layer.scheme,
        release=look.surface.version,
        toolkit=look.toolkit,
        major=look.capability.major,
        family=look.profile.family,
        kv_dtype=arguments.kv_cache_dtype,
        speculative=arguments.speculative,
        parallel=arguments.tensor_parallel > 1,
        schemes_beside=tuple(sorted(schemes - {layer.scheme})),
    )


def _told(layer: LayerProof, records: Sequence[FieldRecord], device: DeviceClass) -> Iterator[Told]:
    sure = layer.prediction.confidence if layer.prediction is not None else Confidence.INFERRED
    facts = _facts(layer)
    stopped = _refusal(layer)
    if stopped:
        yield Told(Fate.REFUSES, sure, stopped, facts)
        return
    if layer.verdict is Verdict.SKIPPED and layer.prediction is None and not layer.deliveries:
        yield Told(Fate.NOT_LOADED, Confidence.SHOWN, layer.reason)
        return
    yield from _delivered(layer, sure, facts)
    if layer.guess:
        yield Told(Fate.GUESSED, Confidence.INFERRED, layer.guess)
    if layer.speed:
        yield Told(_kind(Speed(layer.speed)), sure, facts=facts)
    elif layer.verdict is Verdict.INCONCLUSIVE:
        yield Told(Fate.UNDECIDED, sure, layer.reason)
    for record in records:
        if record.bad and record.count(device):
            source = (f"known_issues/{record.id}",)
            yield Told(Fate.REPORTED, Confidence.REPORTED, record.title, source)


def _kind(speed: Speed) -> Fate:
    """The word of a speed: the same one, but for what is slow."""
    return Fate.SLOW if speed in _SLOW else Fate(speed.value)


def _refusal(layer: LayerProof) -> str:
    if layer.prediction is not None and layer.prediction.error:
        return layer.prediction.error.partition(" (choose from")[0]
    if layer.verdict is Verdict.FAIL and not layer.deliveries:
        return layer.reason.removeprefix("vLLM refuses: ")
    return ""


def _delivered(layer: LayerProof, sure: Confidence, facts: tuple[str, ...]) -> Iterator[Told]:
    """At most one word for what is missing, one for what is open, one for what is compiled."""
    seen: set[Fate] = set()
    for item in layer.deliveries:
        fate = _fate(item)
        if fate is not None and fate not in seen:
            seen.add(fate)
            yield Told(fate, sure, f"{item.what}: {item.reason}", facts)


def _fate(item: Delivery) -> Fate | None:
    if item.verdict is Verdict.FAIL:
        return Fate.REFUSES if item.means == Means.NVCC.value else Fate.CRASHES
    if item.verdict is Verdict.INCONCLUSIVE:
        return Fate.UNDECIDED
    return Fate.JIT if item.warning else None


def _facts(layer: LayerProof) -> tuple[str, ...]:
    prediction = layer.prediction
    known = prediction is not None and prediction.implementation in backends()
    backend = (f"backends/{backends()[prediction.implementation].id}",) if known else ()  # type: ignore[union-attr]
    return (*backend, *(prediction.facts if prediction is not None else ()))
