"""The box that an artifact is meant for, which is seldom the machine that asks."""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.errors import UsageError

_PYTHON = re.compile(r"3\.\d{1,2}\Z")
_PLATFORM = re.compile(r"[a-z0-9_]{2,32}\Z")
_OLDEST_GLIBC_MINOR = 17
_LEGACY = "manylinux2014"


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """CPU architecture, interpreter and C library of the box.

    Attributes:
        platform: CPU architecture as wheels name it.
        python: ``major.minor``.
        glibc_minor: newest glibc 2.x whose wheels it takes; 39 is Ubuntu 24.04 and with it
            DGX OS 7 (release notes of glibc 2.39, 2024-01-31; checked 2026-11-29).
    """

    platform: str = "aarch64"
    python: str = "3.12"
    glibc_minor: int = 39

    def check(self) -> Target:
        """Itself, if its fields can be what they say.

        Raises:
            UsageError: they can't.
        """
        if not _PYTHON.match(self.python):
            raise UsageError(f"`{self.python}` is no Python version", hint="e.g. 3.12")
        if not _PLATFORM.match(self.platform):
            raise UsageError(f"`{self.platform}` is no CPU architecture", hint="aarch64 or x86_64")
        return self

    def platform_tags(self) -> tuple[str, ...]:
        """Platform tags of wheels that run there, best first, as pip on the box orders them."""
        tags = [
            f"manylinux_2_{minor}_{self.platform}"
            for minor in range(self.glibc_minor, _OLDEST_GLIBC_MINOR - 1, -1)
        ]
        return (*tags, f"{_LEGACY}_{self.platform}", f"linux_{self.platform}")

    def __str__(self) -> str:
        return f"{self.platform}, Python {self.python}"
