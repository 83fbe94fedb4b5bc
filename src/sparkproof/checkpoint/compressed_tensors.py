"""Reading compressed-tensors' ``config_groups``: targets, ignore list, and arguments.

The format string decides nothing: W4A4 or W4A16 follows from ``input_activations`` alone.
"""

from __future__ import annotations

from sparkproof.checkpoint.declared import NOT_LISTED, Declared, Listed, ignored, unreadable
from sparkproof.checkpoint.group_args import describe_group, read_group
from sparkproof.checkpoint.layout import TOPIC, Module
from sparkproof.checkpoint.matching import Hit, TargetList, Work, shown
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.hf_config import ConfigGroup, QuantDeclaration


class CompressedTensors:
    """A `Declarer` for ``quant_method: compressed-tensors``."""

    def __init__(self, block: QuantDeclaration, work: Work) -> None:
        self._block = block
        self._ignore = TargetList(block.ignore, work)
        self._ignore_where = f"{block.where}.{block.ignore_field}"
        groups = [group for group in block.groups if not _only_attention(group)]
        # A target that stands in two groups belongs to the later one, as in a dict.
        self._groups = {target: group for group in groups for target in group.targets}
        self._targets = TargetList(self._groups, work)
        self._readings = {group.name: read_group(group) for group in groups}
        self._said: dict[Hit, Declared] = {}

    def declare(self, module: Module) -> Declared:
        """What the declaration says of one module."""
        skip = self._ignore.find(module)
        if skip and skip.unreadable:
            return unreadable(skip, self._ignore_where)
        hit = self._targets.find(module)
        if skip and not skip.of_class:
            return ignored(skip, self._ignore_where, matters=_reaches(hit, module))
        if hit is None:
            return NOT_LISTED
        said = self._said.get(hit)
        if said is None:
            said = self._said[hit] = self._say(hit)
        return said

    def _say(self, hit: Hit) -> Declared:
        group = self._groups[hit.entry]
        where = f"{self._block.where}.config_groups.{shown(group.name)}"
        if hit.unreadable:
            return unreadable(hit, where)
        scheme, activations, variant = self._readings[group.name]
        detail = describe_group(group)
        return Declared(
            scheme,
            hit.by,
            Evidence(where, f"target `{shown(hit.entry)}`: {detail}"),
            activations,
            detail,
            variant,
            hit.loose,
            hit.one_name,
        )

    def unplaced(self) -> tuple[Listed, ...]:
        """Targets are patterns; none is a list of what exists."""
        return ()

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """Groups that name no known scheme."""
        unknowns = tuple(
            Unknown(
                f"{self._block.where}.config_groups.{shown(group.name)}",
                f"no scheme of this version: {describe_group(group)}",
                TOPIC,
            )
            for group in self._block.groups
            if self._readings.get(group.name, ("",))[0] is QuantScheme.UNKNOWN
        )
        if not self._block.groups:
            return (Unknown(self._block.where, "no config_groups", TOPIC),), ()
        return unknowns, ()


def _reaches(hit: Hit | None, module: Module) -> bool:
    """Whether a module would be quantized if its ignore entry failed to cover it."""
    if hit is None:
        return False
    return hit.by is not DeclaredBy.CLASS or module.layer_class is not LayerClass.LM_HEAD


def _only_attention(group: ConfigGroup) -> bool:
    """Groups for the attention module itself describe the KV cache, not a weight."""
    return len(group.targets) == 1 and group.targets[0].endswith("Attention")
