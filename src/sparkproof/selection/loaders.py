"""Loaders that pass a selection function by, or that it can't tell apart."""

from __future__ import annotations

from sparkproof.core.observations.checkpoint_profile import QuantScheme
from sparkproof.core.observations.release_surface import Oracle, Pinned, ReleaseSurface

ASKS_NO_SCHEME = "its selection does not ask about 16-bit activations, and no loader names a kernel"
"""Why there is no answer for weights that are 4 bits wide alone."""


def pinned_kernels(surface: ReleaseSurface, oracle: Oracle, scheme: str) -> tuple[Pinned, ...]:
    """What loaders take for a scheme without asking the oracle."""
    return tuple(p for p in surface.pinned if p.oracle == oracle.id and p.scheme == scheme)


def answers_scheme(oracle: Oracle, scheme: str) -> bool:
    """Whether a walk of the oracle stands for a scheme.

    A dense selection without an argument for it answers as if activations had 4 bits too.
    """
    dense = oracle.id.startswith("dense")
    return scheme != QuantScheme.NVFP4_W4A16 or not dense or "use_a16" in dict(oracle.arguments)
