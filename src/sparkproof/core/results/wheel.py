"""Payload of ``wheel``: the device code of an artifact, and what of it a device can run."""

from __future__ import annotations

import msgspec

from sparkproof.core.delivery import Alternative, FamilyRoute, JitPart


class LibraryRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member that holds device code.

    Attributes:
        archs: label to number of entries, e.g. ``sm_120f``: 35, ``compute_80``: 1.
        relocatable: label to number of entries that only a device link uses.
        form: ``library``, ``object``, ``archive`` or ``fatbin``.
        needed: CUDA libraries it links, e.g. ``libcudart.so.13``.
    """

    path: str
    size_bytes: int
    containers: int
    archs: dict[str, int]
    relocatable: dict[str, int]
    form: str
    toolkit: str
    needed: tuple[str, ...]


class LooseRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Loose cubins and PTX texts of one folder and architecture."""

    folder: str
    arch: str
    files: int


class WheelResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was found.

    Attributes:
        device: title; "" where only the architectures were listed.
        cuda: CUDA runtime libraries that are linked, e.g. ``libcudart.so.13``.
        toolkits: ptxas versions seen.
        families: routes on the device, by family.
        alternatives: libraries of which one is loaded; `families` count the best of each group.
    """

    device: str
    capability: str
    cuda: tuple[str, ...]
    toolkits: tuple[str, ...]
    libraries: tuple[LibraryRow, ...]
    loose: tuple[LooseRow, ...] = ()
    families: tuple[FamilyRoute, ...] = ()
    compiled_at_run_time: tuple[JitPart, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


DOCUMENTS = {"wheel": WheelResult}
