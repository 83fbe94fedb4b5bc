"""How device code reaches a device: the routes, and what each kernel family gets."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.finding import Evidence


class Route(StrEnum):
    """What happens when a kernel is wanted on a device, best first."""

    NATIVE = "native"
    """Machine code for exactly this device."""
    FAMILY = "family"
    """Machine code for the device's family (``f``)."""
    SAME_MAJOR = "same-major"
    """Machine code for an older minor capability of the same major one."""
    PTX_JIT = "ptx-jit"
    """The driver compiles PTX at first use: works, at a price."""
    NONE = "none"
    """Nothing that loads."""
    DEAD_CODE = "dead-code"
    """It loads, but the kernel's body only traps."""


class RouteCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Kernels of one family that share a route and an architecture.

    Attributes:
        arch: of the entry that the loader takes, e.g. ``sm_120f``, or ``compute_80`` for PTX; ""
            where none is taken.
        kernels: one for each container that holds it: each translation unit launches its own.
        names: how many different symbols these are.
    """

    route: Route
    arch: str
    kernels: int
    names: int


class OpcodeSum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Machine instructions of one class in the family's kernels on one route.

    Attributes:
        opcode: mnemonic, e.g. ``OMMA``; ``BPT`` is the trap.
    """

    route: Route
    arch: str
    opcode: str
    instructions: int
    kernels: int


class FamilyRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kernel family on one device.

    Attributes:
        route: the worst of the routes that work, since any of its kernels may be wanted. One that
            is there for this device and dead makes the whole `Route.DEAD_CODE`; where nothing
            works, it is that if symbols load, else `Route.NONE`.
        promised: it holds kernels written for this generation of devices, or every model needs it:
            then it has to work.
        counts: kernels per route and architecture, after the loader's choice.
        elsewhere: kernels written for another generation of devices: not wanted here.
        libraries: members that hold its kernels.
    """

    family: str
    title: str
    role: str
    route: Route
    counts: tuple[RouteCount, ...]
    promised: bool = False
    elsewhere: int = 0
    opcodes: tuple[OpcodeSum, ...] = ()
    libraries: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def kernels(self) -> int:
        """Kernels that work on the device."""
        return sum(count.kernels for count in self.counts if count.route not in NOT_WORKING)

    @property
    def jit(self) -> bool:
        """Whether any kernel needs the driver's compiler."""
        return any(count.route is Route.PTX_JIT for count in self.counts)


NOT_WORKING = frozenset({Route.NONE, Route.DEAD_CODE})


class ArchCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many cubins, PTX texts or libraries are there for one architecture.

    Attributes:
        loads: by which route the device takes one of these.
    """

    arch: str
    files: int
    loads: Route


class Alternative(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library of a group of which a process loads one.

    Attributes:
        group: the name that they share, with a star where they differ.
        toolkit: that built its device code ("" if not told).
        working: of its kernels, those that run on the device.
        route: the worst by which one of them does.
        chosen_by: what decides which is loaded.
        counted: it stands for its group, as the best for the device.
    """

    library: str
    group: str
    toolkit: str
    kernels: int
    working: int
    route: Route
    chosen_by: str
    counted: bool = False


class JitPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package that compiles at run time, or that spares another one the compilation.

    Attributes:
        tools: what has to be installed where it runs, e.g. ``ninja`` and ``nvcc``.
        sources: number of source files that it compiles from.
        prebuilt: what is compiled already; where nothing of it loads on the device, `tools` decide.
        evidence: the files that told.
    """

    package: str
    title: str
    tools: tuple[str, ...]
    sources: int
    prebuilt: tuple[ArchCount, ...]
    evidence: tuple[Evidence, ...]
