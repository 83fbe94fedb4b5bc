"""vLLM's ``ScalarType`` ids, as they stand in the template arguments of Marlin kernels.

Layout read in ``csrc/core/scalar_type.hpp`` of vLLM 0.20 to 0.33 (2026-11-29).
"""

from __future__ import annotations

import msgspec


class ScalarType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number format: bits of exponent and mantissa, sign, bias, and whether it has infinities."""

    exponent: int
    mantissa: int
    signed: bool
    bias: int
    finite_only: bool

    @property
    def name(self) -> str:
        """``e2m1`` for floats, ``u4`` or ``s8`` for integers, with ``b8`` for a bias."""
        if self.exponent:
            return f"e{self.exponent}m{self.mantissa}"
        text = f"{'s' if self.signed else 'u'}{self.mantissa + self.signed}"
        return f"{text}b{self.bias}" if self.bias else text


def parse_scalar_type(number: int) -> ScalarType:
    """Decode a 64-bit id; every number is one, if not always a sensible one."""
    return ScalarType(
        exponent=number & 0xFF,
        mantissa=number >> 8 & 0xFF,
        signed=bool(number >> 16 & 1),
        bias=number >> 17 & 0xFFFFFFFF,
        finite_only=bool(number >> 49 & 1),
    )
