"""Every value of a backend flag, tried: what it leads to, and what is known against it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sparkproof.checkpoint.effective import EffectiveFormat
from sparkproof.core.deployment import Box
from sparkproof.core.field_report import DeviceClass, FieldRecord
from sparkproof.core.observations.checkpoint_profile import QuantScheme
from sparkproof.core.observations.release_surface import Oracle, ReleaseSurface
from sparkproof.core.prediction import How
from sparkproof.core.results.proof import Branch, LayerProof
from sparkproof.core.results.select import FlagChoice
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Verdict, fold
from sparkproof.selection.predict import FELL_BACK
from sparkproof.usecases.outcomes import reports_of
from sparkproof.usecases.prove.branch import TOOLS, Look, prove_branch
from sparkproof.usecases.prove.roles import ATTENTION_KERNEL

_FIELDS = {
    "--moe-backend": "moe_backend",
    "--linear-backend": "linear_backend",
    "--attention-backend": "attention_backend",
}
_COUNTERPART = {"--moe-backend": "--linear-backend", "--linear-backend": "--moe-backend"}
_AUTO = ("auto", "")
_QUIET = (Verdict.PASS, Verdict.SKIPPED)


def try_flags(
    look: Look,
    box: Box,
    arguments: SelectionArgs,
    branches: Sequence[Branch],
    device: DeviceClass,
) -> tuple[FlagChoice, ...]:
    """Values of the three backend flags that change something for this checkpoint.

    Each has the verdict of the whole deployment with it, so none passes beside a layer that fails
    whatever the flag is.
    Where the box's tools are unstated they are taken as present: what a value leads to is then
    the best that it can.
    """
    present = branches[0]
    stated = msgspec.structs.replace(
        box, **{tool: True for tool in TOOLS if getattr(box, tool) is None}
    )
    return tuple(
        choice
        for flag in _FIELDS
        for choice in _Tried(look, stated, arguments, present, device, flag).run()
    )


class _Tried:
    """All values of one flag."""

    def __init__(
        self,
        look: Look,
        box: Box,
        arguments: SelectionArgs,
        present: Branch,
        device: DeviceClass,
        flag: str,
    ) -> None:
        self._look = look
        self._box = box
        self._arguments = arguments
        self._device = device
        self._flag = flag
        oracles = [item for item in look.surface.oracles if item.flag == flag]
        self._reached = {item.id for item in oracles}
        self._present = [layer for layer in present.layers if self._is_reached(layer)]
        rest = (layer for layer in present.layers if not self._is_reached(layer))
        self._amiss = [layer for layer in rest if layer.verdict not in _QUIET]
        asked = {layer.prediction.oracle for layer in self._present if layer.prediction}
        self._oracles = [item for item in oracles if item.id in asked]

    def run(self) -> Iterator[FlagChoice]:
        now = getattr(self._arguments, _FIELDS[self._flag]).lower()
        for value in self._values():
            if value.lower() == now or (value in _AUTO and now in _AUTO):
                continue
            choice = self._choice(value)
            if choice is not None:
                yield choice

    def _values(self) -> list[str]:
        named = dict.fromkeys(name for oracle in self._oracles for name in _named(oracle))
        return ["auto", *named] if named else []

    def _is_reached(self, layer: LayerProof) -> bool:
        return layer.prediction is not None and layer.prediction.oracle in self._reached

    def _choice(self, value: str) -> FlagChoice | None:
        if self._look.surface.option(self._flag) is None:
            return None
        if not accepts(self._look.surface, self._flag, value):
            error = f"this release does not take {value}"
            return FlagChoice(self._flag, value, False, Verdict.FAIL, "", error=error)
        layers = self._layers(value)
        if [_pick(layer) for layer in layers] == [_pick(layer) for layer in self._present]:
            return None
        failing = (layer for layer in self._amiss if layer.verdict is Verdict.FAIL)
        anyway = [f"{layer.subject}: {layer.reason}" for layer in failing]
        errors = dict.fromkeys(filter(None, map(_error, layers))) or anyway[:1]
        fallen = [layer for layer in layers if _fell_back(layer)]
        whole = (*layers, *self._amiss)
        verdict = fold(layer.verdict for layer in whole)
        return FlagChoice(
            flag=self._flag,
            value=value,
            accepted=True,
            verdict=verdict,
            leads_to=_leads(layers),
            reason=_decisive(whole, verdict) if verdict not in _QUIET else "",
            error="; ".join(errors),
            against=tuple(self._against(layers, fallen)),
            half=value not in _AUTO and self._leaves_some(),
            idle=bool(layers) and len(fallen) == len(layers),
        )

    def _layers(self, value: str) -> list[LayerProof]:
        name = _FIELDS[self._flag]
        forced = msgspec.structs.replace(
            self._arguments,
            **{name: "" if name == "attention_backend" and value in _AUTO else value},
        )
        look = msgspec.structs.replace(self._look, effective=self._formats())
        branch = prove_branch(look, self._box, forced, {})
        return [layer for layer in branch.layers if self._is_reached(layer)]

    def _formats(self) -> tuple[EffectiveFormat, ...]:
        """Only the formats that the flag reaches, so that nothing else is proven again."""
        wanted = {(layer.subject, layer.layers) for layer in self._present}
        return tuple(
            item
            for item in self._look.effective
            if (item.effective.layer_class.value, item.effective.layers) in wanted
        )

    def _against(self, layers: Sequence[LayerProof], fallen: Sequence[LayerProof]) -> Iterator[str]:
        anyway = {record.id for layer in self._present for record in self._bad(layer)}
        told = dict.fromkeys(
            f"reported on {'this' if record.count(self._device) else 'another'} kind of device: "
            f"{record.title}"
            for layer in layers
            for record in self._bad(layer)
            if record.id not in anyway
        )
        yield from told
        if fallen:
            names = ", ".join(dict.fromkeys(layer.subject for layer in fallen))
            yield f"has no kernel for {names}: picked as if nothing had been forced"

    def _bad(self, layer: LayerProof) -> list[FieldRecord]:
        found = reports_of(self._look, layer, self._arguments, self._device)
        return [record for record in found if record.bad]

    def _leaves_some(self) -> bool:
        """Whether the counterpart, left on automatic, decides about quantized layers too."""
        other = _COUNTERPART.get(self._flag, "")
        if not other or getattr(self._arguments, _FIELDS[other]).lower() not in _AUTO:
            return False
        reached = {(layer.subject, layer.layers) for layer in self._present}
        plain = QuantScheme.UNQUANTIZED
        return any(
            item.effective.scheme is not plain
            and (item.effective.layer_class.value, item.effective.layers) not in reached
            for item in self._look.effective
        )


def accepts(surface: ReleaseSurface, flag: str, value: str) -> bool:
    """Whether the release's command line takes the value; True where that can't be told."""
    option = surface.option(flag)
    if option is None or not option.closed or value in _AUTO:
        return True
    return value in option.choices or value.upper() in option.choices


def _named(oracle: Oracle) -> tuple[str, ...]:
    return tuple(item.name for item in oracle.cli) if oracle.cli else oracle.listed


def _pick(layer: LayerProof) -> tuple[str, str]:
    assert layer.prediction is not None
    return layer.prediction.selected, layer.prediction.error


def _error(layer: LayerProof) -> str:
    return layer.prediction.error if layer.prediction is not None else ""


def _fell_back(layer: LayerProof) -> bool:
    found = layer.prediction
    return found is not None and found.how is How.AUTO and FELL_BACK in found.reason


def _decisive(layers: Sequence[LayerProof], verdict: Verdict) -> str:
    found = [f"{layer.subject}: {layer.reason}" for layer in layers if layer.verdict is verdict]
    return found[0] if found else ""


def _leads(layers: Sequence[LayerProof]) -> str:
    """``MARLIN, weight-only: experts; …``, nothing for what ends in an error."""
    groups: dict[str, list[str]] = {}
    for layer in layers:
        assert layer.prediction is not None
        if layer.prediction.selected:
            name = ", ".join(filter(None, (layer.prediction.selected, layer.speed)))
            named = layer.subject if layer.subject != ATTENTION_KERNEL else "attention"
            groups.setdefault(name, []).append(named)
    return "; ".join(f"{', '.join(dict.fromkeys(who))}: {name}" for name, who in groups.items())
