"""Reading AWQ, GPTQ and AutoRound: one setting for every linear layer, with exceptions."""

from __future__ import annotations

import msgspec

from sparkproof.checkpoint.declared import NOT_LISTED, Declared, Listed, ignored, unreadable
from sparkproof.checkpoint.layout import TOPIC, Module
from sparkproof.checkpoint.matching import ExcludeList, Hit, Work, shown
from sparkproof.checkpoint.stored_units import Sorted
from sparkproof.core.errors import FormatError
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.hf_config import ModelConfig, QuantDeclaration
from sparkproof.formats.hf_weight_only import LayerOverride, WeightOnly
from sparkproof.formats.name_pattern import NamePattern, compile_regex
from sparkproof.formats.name_pattern_syntax import PATTERN_LIMIT

_INTEGERS = {4: QuantScheme.INT4_W4A16, 8: QuantScheme.INT8_W8A16}
_SPECIAL = frozenset("*+?^$()[]{}|\\")
_METHODS = {
    "awq": "awq",
    "awq_marlin": "awq",
    "auto_awq": "awq",
    "gptq": "gptq",
    "gptq_marlin": "gptq",
    "auto_gptq": "gptq",
    "auto-round": "auto-round",
    "auto_round": "auto-round",
    "intel/auto-round": "auto-round",
    "inc": "auto-round",
}


_BY_MODULE = frozenset({"awq", "gptq"})
"""Methods that ask for the name of all routed experts of a layer; AutoRound knows each."""


def reads(method: str) -> bool:
    """Whether `WeightOnlyMethod` reads a ``quant_method``."""
    return method in _METHODS


class _Rule:
    """One exception: by full name, end of a name, or pattern."""

    def __init__(self, override: LayerOverride) -> None:
        self.override = override
        text = override.entry.removeprefix("re:")
        self._pattern: NamePattern | None = None
        self.fault = ""
        anchored = override.entry.startswith("re:")
        if anchored or _SPECIAL & set(text):
            try:
                searched = text if anchored else f".*(?:{text})"
                self._pattern = compile_regex(searched[: PATTERN_LIMIT + 1])
            except FormatError as error:
                self.fault = error.reason

    def covers(self, module: Module, work: Work) -> Hit | None:
        entry = self.override.entry
        if any(name == entry or name.endswith(f".{entry}") for name in module.names):
            return Hit(entry, DeclaredBy.NAME, 0)
        if self.fault:
            return Hit(entry, DeclaredBy.PATTERN, 0, unreadable=self.fault)
        if self._pattern is None:
            return None
        try:
            found = any(work.match(self._pattern, name) for name in module.names)
        except FormatError as error:
            return Hit(entry, DeclaredBy.PATTERN, 0, unreadable=error.reason)
        return Hit(entry, DeclaredBy.PATTERN, 0) if found else None


class WeightOnlyMethod:
    """A `Declarer` for methods whose weights alone are quantized."""

    def __init__(self, block: QuantDeclaration, work: Work) -> None:
        self._block = block
        self._method = _METHODS[block.method]
        self._settings = block.weight_only or WeightOnly()
        self._skip = ExcludeList(block.ignore, work)
        self._skip_where = f"{block.where}.{block.ignore_field}"
        self._rules = [_Rule(override) for override in self._settings.overrides]
        self._named = {rule.override.entry: rule for rule in self._rules}
        self._searched = [rule for rule in self._rules if not _plain(rule.override.entry)]
        self._work = work
        self._default = self._read(self._settings.bits, self._settings.group_size)

    def declare(self, module: Module) -> Declared:
        """What the declaration says of one module."""
        if self._method in _BY_MODULE:
            module = module.gather()
        skip = self._skip.find(module, members=False)
        if skip:
            return self._left_out(skip)
        rule, hit = self._exception(module)
        if hit and hit.unreadable:
            return unreadable(hit, self._block.where)
        if rule and hit:
            if rule.override.excluded:
                return ignored(hit, self._block.where)
            return self._said(rule, hit)
        if not self._reaches(module):
            return NOT_LISTED
        return self._default

    def _left_out(self, skip: Hit) -> Declared:
        if skip.unreadable:
            return unreadable(skip, self._skip_where)
        return ignored(skip, self._skip_where)

    def _exception(self, module: Module) -> tuple[_Rule | None, Hit | None]:
        for name in module.names:
            tail = name.rpartition(".")[2]
            for key in (name, tail):
                if key in self._named and self._named[key].covers(module, self._work):
                    return self._named[key], Hit(key, DeclaredBy.NAME, 0)
        for rule in self._searched:
            if hit := rule.covers(module, self._work):
                return rule, hit
        return None, None

    def _said(self, rule: _Rule, hit: Hit) -> Declared:
        own = rule.override
        said = self._read(
            own.bits or self._settings.bits, own.group_size or self._settings.group_size
        )
        evidence = Evidence(self._block.where, f"entry `{shown(hit.entry)}`: {said.detail}")
        return Declared(said.scheme, hit.by, evidence, said.activations, said.detail, said.variant)

    def _reaches(self, module: Module) -> bool:
        if module.layer_class is LayerClass.LM_HEAD:
            return self._settings.lm_head
        if "Linear" not in module.classes:
            return False
        only, blocks = self._settings.only, self._settings.blocks
        if self._method == "gptq" and only and not module.gathered:
            return any(part in name for part in only for name in module.names)
        if self._method == "auto-round" and blocks:
            return any(name.startswith(blocks) for name in module.names)
        return True

    def _read(self, bits: int, group_size: int) -> Declared:
        settings = self._settings
        scheme, kind = _scheme(self._method, bits, settings)
        detail = self._words(bits, group_size)
        evidence = Evidence(self._block.where, detail)
        return Declared(scheme, DeclaredBy.DEFAULT, evidence, kind, detail, self._variant())

    def _words(self, bits: int, group_size: int) -> str:
        settings = self._settings
        size = "row" if group_size < 0 else str(group_size or "x".join(map(str, settings.block)))
        words = [self._method, f"{bits or '?'}-bit", f"group {size or '?'}"]
        if settings.data_type and settings.data_type != "int":
            words.insert(1, shown(settings.data_type))
        words += ["asymmetric"] if not settings.symmetric else []
        words += ["act-order"] if settings.activation_order and group_size >= 0 else []
        return " ".join(words)

    def _variant(self) -> str:
        settings = self._settings
        if settings.activation_order and settings.group_size >= 0:
            return "act-order"
        return "" if settings.symmetric else "asymmetric"

    def unplaced(self) -> tuple[Listed, ...]:
        """Exceptions may name layers that a text-only layout does not have."""
        return ()

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """Bits or data types that are not known."""
        if self._default.scheme is not QuantScheme.UNKNOWN:
            return (), ()
        return (
            Unknown(self._block.where, f"no scheme of this version: {self._default.detail}", TOPIC),
        ), ()


def as_stored(config: ModelConfig, found: Sorted) -> ModelConfig:
    """A declaration without a list of exceptions, with the list that vLLM makes for it.

    AWQ and GPTQ checkpoints often say nothing of what they leave alone: vLLM looks at the
    tensors' types (``maybe_update_config`` of auto_awq.py and auto_gptq.py, 0.33.0; of
    awq_marlin.py and gptq_marlin.py, 0.20.0).
    """
    block = config.quantization
    settings = block.weight_only if block else None
    if block is None or settings is None or _METHODS.get(block.method) not in ("awq", "gptq"):
        return config
    if block.ignore or settings.only:
        return config
    plain = tuple(unit.module for unit in found.units if unit.is_plain)
    if not plain:
        return config
    told = "modules_to_not_convert, as vLLM takes it from the tensors"
    block = msgspec.structs.replace(block, ignore=plain, ignore_field=told)
    return msgspec.structs.replace(config, quantization=block)


def _plain(entry: str) -> bool:
    return not entry.startswith("re:") and not _SPECIAL & set(entry)


def _scheme(method: str, bits: int, settings: WeightOnly) -> tuple[QuantScheme, Activations]:
    kind = settings.data_type if method == "auto-round" else "int"
    if kind in ("", "int"):
        scheme = _INTEGERS.get(bits, QuantScheme.UNKNOWN)
        known = scheme is not QuantScheme.UNKNOWN
        return scheme, Activations.UNQUANTIZED if known else Activations.UNKNOWN
    if "mx_fp" in kind and bits == 4:
        return QuantScheme.MXFP4, Activations.UNQUANTIZED
    if "mx_fp" in kind and bits == 8:
        return QuantScheme.MXFP8, Activations.MXFP8
    if kind == "fp" and bits == 8 and len(settings.block) == 2:
        return QuantScheme.FP8_BLOCK, Activations.FP8_DYNAMIC_BLOCK
    return QuantScheme.UNKNOWN, Activations.UNKNOWN
