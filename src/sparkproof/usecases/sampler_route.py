"""Whether the default sampler has to be compiled on the box. Pure."""

from __future__ import annotations

from sparkproof.core.deployment import Box
from sparkproof.devicecode.delivery import JIT_CACHE
from sparkproof.facts.sampler import sampler
from sparkproof.usecases.prove.branch import TOOLS, Look


def builds_sampler(box: Box, look: Look) -> bool:
    """Whether the release takes it, and nothing on the box holds it ready-made."""
    used = sampler()
    absent_at_all = box.packages_complete and used.provider not in box.packages
    spared = JIT_CACHE in box.packages or absent_at_all
    return not spared and used.used(look.surface.version, look.env)


def with_sampler(change: str, box: Box, look: Look) -> str:
    """A change, with the variable that it takes as well where the box has no compiler."""
    missing = any(getattr(box, tool) is False for tool in TOOLS)
    if not missing or not look.code_read or not builds_sampler(box, look):
        return change
    return f"{change} and with {sampler().variable}=0"
