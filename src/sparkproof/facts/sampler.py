"""The sampler that vLLM uses unless told otherwise, and what it needs."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file
from sparkproof.facts.releases import holds


class Sampler(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sampler that is compiled on the box.

    Attributes:
        variable: environment variable that switches it, ``0`` for off.
        on_by_default: vLLM versions that use it unless told otherwise.
    """

    variable: str
    provider: str
    on_by_default: str
    source: str
    checked: date

    def used(self, release: str, env: dict[str, str]) -> bool:
        """Whether that release uses it under that environment."""
        value = env.get(self.variable, "").strip().lower()
        if value:
            return value not in ("0", "false")
        return holds(self.on_by_default, release)


@cache
def sampler() -> Sampler:
    """The one sampler that needs a compiler."""
    return load_file("samplers/flashinfer.toml", Sampler)
