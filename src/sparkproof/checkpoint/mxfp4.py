"""Reading ``quant_method: mxfp4``: routed experts in MXFP4, and nothing else."""

from __future__ import annotations

from sparkproof.checkpoint.declared import NOT_LISTED, Declared, Listed, ignored, unreadable
from sparkproof.checkpoint.layout import Module
from sparkproof.checkpoint.matching import ExcludeList, Work
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    DeclaredBy,
    LayerClass,
    Note,
    QuantScheme,
)
from sparkproof.core.unknown import Unknown
from sparkproof.formats.hf_config import QuantDeclaration

METHODS = frozenset({"mxfp4", "gpt_oss_mxfp4"})


class Mxfp4:
    """A `Declarer` for gpt-oss's method.

    The list of exclusions changes nothing: linear layers are never quantized by it, and
    experts always (mxfp4.py, `get_quant_method`, 0.20.0 to 0.33.0).
    """

    def __init__(self, block: QuantDeclaration, work: Work) -> None:
        self._skip = ExcludeList(block.ignore, work)
        self._where = f"{block.where}.{block.ignore_field}"
        evidence = Evidence(block.where, "quant_method mxfp4: experts")
        self._experts = Declared(
            QuantScheme.MXFP4,
            DeclaredBy.DEFAULT,
            evidence,
            Activations.UNQUANTIZED,
            "groups of 32; activations as the kernel takes them",
        )
        self._asked = False

    def declare(self, module: Module) -> Declared:
        """What the method does with one module."""
        if module.layer_class is LayerClass.EXPERTS:
            self._asked = True
            return self._experts
        skip = self._skip.find(module)
        if skip and skip.unreadable:
            return unreadable(skip, self._where)
        return ignored(skip, self._where) if skip else NOT_LISTED

    def unplaced(self) -> tuple[Listed, ...]:
        """The experts, where no layer is known to have them."""
        return () if self._asked else (Listed(LayerClass.EXPERTS, self._experts, "every expert"),)

    def remarks(self) -> tuple[tuple[Unknown, ...], tuple[Note, ...]]:
        """Nothing can be unread."""
        return (), ()
