"""Which scheme the tensors of one unit amount to."""

from __future__ import annotations

from math import prod

import msgspec

from sparkproof.checkpoint.stored_units import FLOAT_TYPES, Part, Unit
from sparkproof.core.observations.checkpoint_profile import Activations, QuantScheme
from sparkproof.facts.quant_schemes import StoredShape, quant_schemes
from sparkproof.facts.tensor_leaves import Role

_PACKED = {"U8": 2}
_WORD_BITS = 32
_STATIC = frozenset(
    {Activations.FP4, Activations.FP8_STATIC_TENSOR, Activations.INT8_STATIC_TENSOR}
)


class Stored(msgspec.Struct, frozen=True):
    """What the tensors of a unit amount to.

    Attributes:
        fits: every scheme whose weights lie like this, the likeliest first; empty where none.
        layout: types and shapes in words.
        missing: what a scheme of such weights would need and is not there ("" for nothing).
        values_per_element: how many weights one stored number holds.
    """

    fits: tuple[QuantScheme, ...]
    layout: str
    missing: str = ""
    values_per_element: int = 1

    def scheme(self, declared: QuantScheme) -> QuantScheme:
        """The declared one where it fits, else the likeliest."""
        if declared in self.fits:
            return declared
        return self.fits[0] if self.fits else QuantScheme.UNKNOWN


def stored_scheme(unit: Unit) -> Stored:
    """Tell the scheme of a unit from types, shapes and names."""
    weight = unit.parts[Role.WEIGHT]
    scale = unit.parts.get(Role.SCALE)
    if scale is None and Role.ORDER in unit.parts:
        return Stored((), _words(unit, ""), "scales")
    values, spread, size = _spread(weight, scale)
    fits = _fitting(weight.dtype, scale.dtype if scale else "", spread, size)
    bits = _integer_bits(unit, weight, scale)
    if bits:
        fits = [s for s in fits if quant_schemes()[s].weight_bits == bits]
        values = _WORD_BITS // bits
    if Role.INPUT_SCALE in unit.parts:
        fits.sort(key=lambda s: quant_schemes()[s].activation_bits)
    if QuantScheme.NVFP4_W4A4 in fits and Role.INPUT_SCALE not in unit.parts:
        fits.remove(QuantScheme.NVFP4_W4A4)
    said = f"{spread} {size}" if spread in ("group", "block") and size else spread
    return Stored(tuple(fits), _words(unit, said), _missing(unit, weight, scale), values)


def needs_input_scale(activations: Activations, unit: Unit) -> bool:
    """Whether the activations are declared static and their scale is not stored."""
    return activations in _STATIC and Role.INPUT_SCALE not in unit.parts


def _fitting(weight: str, scale: str, spread: str, size: int) -> list[QuantScheme]:
    found = [
        fact
        for fact in quant_schemes().values()
        if any(_lies(row, weight, scale, spread, size) for row in fact.stored)
    ]
    return [fact.id for fact in sorted(found, key=lambda fact: -fact.likely)]


def _lies(row: StoredShape, weight: str, scale: str, spread: str, size: int) -> bool:
    if weight not in row.weight or bool(scale) is not bool(row.scale):
        return False
    if scale and scale not in row.scale:
        return False
    return row.spread in ("", spread) and row.size in (0, size)


def _spread(weight: Part, scale: Part | None) -> tuple[int, str, int]:
    """Weights per stored number, what one scale covers, and the size of a group or block."""
    rows, columns = _matrix(weight.shape)
    values = _PACKED.get(weight.dtype, 1) if scale else 1
    columns *= values
    if scale is None:
        return values, "", 0
    if weight.dtype == "I32":
        return values, "", 0
    if prod(_strip(scale.shape, weight.shape)) == 1:
        return values, "tensor", 0
    across, along = _matrix(_strip(scale.shape, weight.shape), column=True)
    if across == rows and along == 1:
        return values, "channel", 0
    if across == rows:
        return values, "group", columns // along if columns % along == 0 else 0
    return values, "block", _side(rows, across)


def _matrix(shape: tuple[int, ...], *, column: bool = False) -> tuple[int, int]:
    """Rows and columns of the last matrix; blocks of bytes are joined to their row."""
    if len(shape) > 3:
        shape = (shape[-3], shape[-2] * shape[-1])
    if len(shape) == 1:
        return (shape[0], 1) if column else (1, shape[0])
    return shape[-2], shape[-1]


def _strip(scale: tuple[int, ...], weight: tuple[int, ...]) -> tuple[int, ...]:
    """Without the leading side that counts experts, and without ModelOpt's empty sides."""
    if len(scale) == 4 and len(weight) == 2 and scale[1] == scale[3] == 1:
        return scale[0], scale[2]
    experts = len(weight) > 2 and len(scale) > 0 and scale[0] == weight[0]
    return scale[1:] if experts else scale


def _side(rows: int, blocks: int) -> int:
    """The power of two that cuts `rows` into `blocks`."""
    side = 1
    while blocks and -(-rows // side) > blocks:
        side *= 2
    return side


def _integer_bits(unit: Unit, weight: Part, scale: Part | None) -> int:
    """Bits of integers in 32-bit words, where shapes tell them; 0 where they do not."""
    if weight.dtype != "I32" or scale is None or len(scale.shape) != 2:
        return 0
    _, columns = _matrix(weight.shape)
    outputs = scale.shape[1]
    if weight.name.endswith("qweight"):
        if columns != outputs:  # AWQ packs along the outputs
            return _WORD_BITS * columns // outputs if outputs else 0
        zeros = unit.parts.get(Role.ZERO_POINT)
        return _WORD_BITS * zeros.shape[-1] // outputs if zeros and zeros.shape and outputs else 0
    return 0


def _missing(unit: Unit, weight: Part, scale: Part | None) -> str:
    if scale is None and weight.dtype not in FLOAT_TYPES:
        return "scales"
    for role in (Role.SCALE, Role.GLOBAL_SCALE, Role.INPUT_SCALE, Role.ZERO_POINT):
        part = unit.parts.get(role)
        if part and part.count < weight.count:
            return f"{weight.count - part.count} of {weight.count} {role.replace('-', ' ')}s"
    four_bit = scale is not None and scale.dtype == "F8_E4M3" and weight.dtype in ("U8", "F4")
    return "global scales" if four_bit and Role.GLOBAL_SCALE not in unit.parts else ""


def _words(unit: Unit, spread: str) -> str:
    told = []
    for role, part in unit.parts.items():
        shape = "x".join(map(str, part.shape)) or "scalar"
        told.append(f"{part.name.rpartition('.')[2]} {part.dtype} {shape}")
        if role is Role.SCALE and spread:
            told[-1] += f" ({spread})"
    return ", ".join(told[:6])
