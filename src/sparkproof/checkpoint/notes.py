"""Peculiarities of a declaration: seen here, judged by the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.checkpoint.declared import Declared
from sparkproof.checkpoint.layout import Module
from sparkproof.checkpoint.matching import shown
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import DeclaredBy, LayerClass, Note
from sparkproof.formats.hf_config import ModelConfig, QuantDeclaration

_SHOWN = 4


def layer_notes(readings: Sequence[tuple[Module, Declared]]) -> tuple[Note, ...]:
    """What is odd about single modules, once per class and entry."""
    return (*_split_fusions(readings), *_entry_notes(readings))


def _split_fusions(readings: Sequence[tuple[Module, Declared]]) -> Iterable[Note]:
    fused: dict[str, dict[str, str]] = {}
    classes: dict[str, LayerClass] = {}
    for module, said in readings:
        whole = module.routed or module.fusion
        if whole:
            excluded = " (excluded)" if said.by is DeclaredBy.EXCLUDED else ""
            kind = f"{said.scheme}{excluded}\n{said.activations}"
            fused.setdefault(whole, {}).setdefault(kind, module.name)
            classes[whole] = module.layer_class
    seen: set[tuple[str, ...]] = set()
    for fusion, kinds in fused.items():
        key = (classes[fusion], *sorted(kinds))
        if len(kinds) > 1 and key not in seen:
            seen.add(key)
            names = " against ".join(
                f"{name} {kind.splitlines()[0]}" for kind, name in kinds.items()
            )
            yield Note("split-fusion", f"{names}, loaded as one layer", classes[fusion])


def _entry_notes(readings: Sequence[tuple[Module, Declared]]) -> Iterable[Note]:
    seen: set[tuple[str, str, Evidence]] = set()
    for module, said in readings:
        if said.evidence is None:
            continue
        for kind, odd, what in (
            ("entry-not-exact", said.loose, "it names a parent of the layers it covers"),
            (
                "names-differ",
                said.one_name,
                f"it does not cover both {module.name} and {module.names[-1]}",
            ),
        ):
            key = (kind, module.layer_class, said.evidence)
            if odd and key not in seen:
                seen.add(key)
                text = f"{said.evidence.what}: {what}"
                yield Note(kind, text, module.layer_class, (said.evidence,))


def source_notes(config: ModelConfig, quant: QuantDeclaration | None) -> tuple[Note, ...]:
    """Where two sources of one checkpoint say different things."""
    notes = [
        Note(
            "sources-disagree",
            f"described as {' and as '.join(map(shown, d.readings))}",
            shown(d.layer_class),
        )
        for d in (config.origin.disputed if config.origin else ())
    ]
    block = config.quantization
    if block and quant:
        notes += _file_disputes(block, quant)
    return tuple(notes)


def _file_disputes(block: QuantDeclaration, quant: QuantDeclaration) -> Iterable[Note]:
    where = (Evidence(block.where, ""), Evidence(quant.where, ""))
    if block.algo != quant.algo:
        what = f"quant_algo {shown(block.algo) or 'none'} against {shown(quant.algo) or 'none'}"
        yield Note("sources-disagree", what, evidence=_filled(where, block.algo, quant.algo))
    if ("lm_head" in block.ignore) != ("lm_head" in quant.ignore):
        told = [
            "excluded" if "lm_head" in each.ignore else "not excluded" for each in (block, quant)
        ]
        yield Note(
            "sources-disagree",
            f"lm_head is {told[0]} against {told[1]}",
            LayerClass.LM_HEAD,
            _filled(where, *told),
        )
    else:
        apart = sorted(set(block.ignore) ^ set(quant.ignore))
        if apart and block.ignore and quant.ignore:
            names = ", ".join(map(shown, apart[:_SHOWN]))
            yield Note(
                "sources-disagree",
                f"{len(apart)} exclusions stand in one only: {names}",
                evidence=_filled(
                    where, f"{len(block.ignore)} entries", f"{len(quant.ignore)} entries"
                ),
            )


def _filled(where: tuple[Evidence, Evidence], *told: str) -> tuple[Evidence, ...]:
    return tuple(Evidence(e.where, shown(t)) for e, t in zip(where, told, strict=True))
