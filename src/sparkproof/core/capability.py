"""Compute capabilities and the architecture labels that device code carries.

A capability is a property of a device (12.1); an architecture is what a cubin or PTX
entry was compiled for (``sm_120f``). Which one loads on which is a fact with a source:
`sparkproof.facts` holds the rules.
"""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.errors import UsageError

_CAPABILITY = re.compile(r"([0-9]{1,2})\.([0-9])\Z")
_ARCH = re.compile(r"(?:sm|compute|lto)_([0-9]{2,3})([af]?)\Z")


class ComputeCapability(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """Compute capability of a device, e.g. 12.1 for GB10."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """Parse ``12.1``.

        Raises:
            UsageError: the text is no ``major.minor``.
        """
        match = _CAPABILITY.match(text.strip())
        if not match:
            raise UsageError(
                f"`{text}` is no compute capability", hint="write it as major.minor, e.g. 12.1"
            )
        return cls(int(match[1]), int(match[2]))

    @property
    def number(self) -> int:
        """The form that device code uses: 121 for 12.1."""
        return self.major * 10 + self.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Arch(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """Target architecture of one device-code entry.

    Attributes:
        number: 120 for ``sm_120f``.
        suffix: ``""``, ``"a"`` (architecture-specific) or ``"f"`` (family-specific).
    """

    number: int
    suffix: str = ""

    @classmethod
    def parse(cls, label: str) -> Arch:
        """Parse ``sm_120f``, ``compute_80`` or ``lto_90``.

        Raises:
            UsageError: the label is none of those.
        """
        match = _ARCH.match(label.strip())
        if not match:
            raise UsageError(f"`{label}` is no architecture label", hint="e.g. sm_120f")
        return cls(int(match[1]), match[2])

    @property
    def capability(self) -> ComputeCapability:
        """The capability this architecture was compiled for."""
        return ComputeCapability(*divmod(self.number, 10))

    @property
    def short(self) -> str:
        """``120f``: how tables print it."""
        return f"{self.number}{self.suffix}"

    def __str__(self) -> str:
        return f"sm_{self.short}"
