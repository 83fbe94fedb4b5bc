"""What a selected backend needs delivered: kernel families, compilers, other packages."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.state_layout import LayerState, StateLayout
from sparkproof.facts.book import load_folder
from sparkproof.facts.releases import holds


class Speed(StrEnum):
    """What an operator gets, in one word."""

    NATIVE_FP4 = "native FP4"
    NATIVE_FP8 = "native FP8"
    NATIVE_INT8 = "native INT8"
    WEIGHT_ONLY = "weight-only"
    UNQUANTIZED = "unquantized"
    ATTENTION = "attention"
    TRITON = "Triton"
    EMULATION = "emulation"


class Means(StrEnum):
    """Where the code of a need comes from."""

    FAMILY = "family"
    """Compiled into the artifact: a kernel family."""
    NVCC = "nvcc"
    """A library compiles it on the box, with `Need.tools` of the box."""
    BUNDLED_COMPILER = "bundled-compiler"
    """A package that the artifact pins brings its own compiler."""
    PACKAGE = "package"
    """Machine code of another package; not part of the artifact."""


class Need(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing without which the backend can't run.

    Attributes:
        family: id of the kernel family, for `Means.FAMILY`.
        provider: package that compiles or holds it, for the other means.
        what: what it is for, in a word or two.
        schemes: quantization schemes it is needed for; all if empty.
        majors: capability majors it is needed on; all if empty.
        except_majors: capability majors it is not needed on.
        tools: what the box has to have, for `Means.NVCC`.
        releases: vLLM releases that need it, as a PEP 440 specifier; all if empty.
        kinds: kinds of layer state (see `StateKind`) it is needed for; all if empty.
        state_dims: dimensions of the recurrent state (of a key) it is needed for; all if empty.
    """

    means: Means
    what: str
    family: str = ""
    provider: str = ""
    schemes: tuple[str, ...] = ()
    majors: tuple[int, ...] = ()
    except_majors: tuple[int, ...] = ()
    tools: tuple[str, ...] = ("nvcc", "ninja")
    releases: str = ""
    kinds: tuple[str, ...] = ()
    state_dims: tuple[int, ...] = ()

    def applies(
        self,
        scheme: str,
        capability: ComputeCapability,
        release: str,
        state: StateLayout | None = None,
    ) -> bool:
        """Whether that release needs it for this scheme on this device.

        Args:
            state: of the model's layers; None where it is not known, which excludes nothing.
        """
        if self.schemes and scheme not in self.schemes:
            return False
        if self.kinds and state is not None and not any(map(self._is_for, state.layers)):
            return False
        if not holds(self.releases, release):
            return False
        if self.majors and capability.major not in self.majors:
            return False
        return capability.major not in self.except_majors

    def _is_for(self, layer: LayerState) -> bool:
        """Whether it is needed for a layer that keeps that."""
        known = layer.recurrent.state if layer.recurrent is not None else 0
        fits = not self.state_dims or not known or known in self.state_dims
        return layer.kind.value in self.kinds and fits


class BackendNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One Python class behind a backend.

    Attributes:
        id: class name, as the release's source spells it; ``model/…`` for what every model
            of a kind needs whatever is selected.
        aliases: names of the same class in other releases.
        speeds: what it is for single schemes, where that differs from `speed`.
        holds_for: releases it was read in, as a PEP 440 specifier.
    """

    id: str
    title: str
    speed: Speed
    needs: tuple[Need, ...]
    source: str
    checked: date
    holds_for: str
    aliases: tuple[str, ...] = ()
    speeds: dict[str, Speed] = {}
    note: str = ""

    def speed_for(self, scheme: str) -> Speed:
        """What an operator gets for layers of that scheme."""
        return self.speeds.get(scheme, self.speed)


@cache
def backends() -> dict[str, BackendNeeds]:
    """All backends by class name, aliases included."""
    found: dict[str, BackendNeeds] = {}
    for backend in load_folder("backends", BackendNeeds):
        for name in (backend.id, *backend.aliases):
            found[name] = backend
    return found
