"""One member of an artifact, from its bytes to a `Library` or a `LooseCode`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import (
    CodeKind,
    Container,
    Entry,
    Kernel,
    Library,
    LibraryForm,
    LooseCode,
)
from sparkproof.core.unknown import Unknown
from sparkproof.devicecode.loader import PayloadChoice, choose_entry
from sparkproof.devicecode.payloads import PayloadView, read_cubin, read_payload, read_toolkit
from sparkproof.facts.loading import load_rules
from sparkproof.formats.cubin import parse_arch, parse_cubin, parse_toolkit
from sparkproof.formats.device_scan import TOPIC, DeviceScan, Keeper, ScannedContainer
from sparkproof.formats.payload import MAX_PAYLOAD_BYTES
from sparkproof.formats.ptx import parse_ptx, parse_ptx_header

_SMALL_BYTES = 512 << 10
_TOOLKIT_TRIES = 8
"""Entries of one library that are asked for their toolkit; many cubins do not tell."""
_MAX_UNKNOWNS = 256
_FREE_BYTES = 256 << 20
_UNPACKED_PER_BYTE = 32
"""How much one member may unpack to; the most that was seen is 6 (vllm 0.22.0, 2026-11-29)."""
_LOOSE_SUFFIXES = (".cubin", ".ptx")


class MemberView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one member turned out to be; all empty for a member of no interest."""

    library: Library | None = None
    loose: LooseCode | None = None
    unknowns: tuple[Unknown, ...] = ()


def read_member(
    path: str, size_bytes: int, chunks: Iterator[bytes], device: ComputeCapability | None
) -> MemberView:
    """Examine one member, front to back, once.

    Args:
        device: whose loader chooses, and whose kernels are read; None for headers only.

    Raises:
        FormatError: the artifact itself is damaged there (from `chunks`).
    """
    reader = _MemberReader(device, _FREE_BYTES + _UNPACKED_PER_BYTE * size_bytes)
    scan = DeviceScan(chunks, size_bytes, reader.keep)
    if scan.is_cubin or path.endswith(_LOOSE_SUFFIXES):
        return _read_loose(path, scan, device)
    if scan.form is LibraryForm.NONE:
        return MemberView()
    try:
        for found in scan:
            reader.take(found)
    except FormatError as error:
        reader.note(error)
    needed = scan.needed()
    library = Library(
        path=path,
        size_bytes=size_bytes,
        form=scan.form,
        containers=tuple(reader.containers(scan.relocatable_ranges())),
        needed=needed,
        toolkit=reader.toolkit,
    )
    unknowns = [*scan.unknowns, *reader.unknowns]
    return MemberView(library=library, unknowns=_placed(path, unknowns))


class _MemberReader:
    """Turns scanned containers into judged ones while they pass.

    Args:
        budget_bytes: what all payloads together may unpack to.
    """

    def __init__(self, device: ComputeCapability | None, budget_bytes: int) -> None:
        self._device = device
        self._budget_bytes = budget_bytes
        self._choice = PayloadChoice(device, load_rules()) if device else None
        self._found: list[Container] = []
        self._tries = 0
        self.toolkit = ""
        self.unknowns: list[Unknown] = []

    @property
    def keep(self) -> Keeper:
        """For the scan."""
        return self._keep

    def _keep(self, index: int, entry: Entry) -> bool:
        if self._choice is None:
            # LTO-IR says it is ZSTD and is not (nvcc 13.0.88, 2026-11-29): it can't be read.
            readable = entry.kind is not CodeKind.LTO_IR and entry.stored_bytes <= _SMALL_BYTES
            return readable and not self.toolkit and self._tries < _TOOLKIT_TRIES
        return self._choice(index, entry) and entry.stored_bytes <= MAX_PAYLOAD_BYTES

    def take(self, found: ScannedContainer) -> None:
        """Choose, and read what was kept."""
        chosen, view = -1, PayloadView(())
        if self._device is not None:
            chosen = choose_entry(found.entries, self._device, load_rules()).index
        try:
            view = self._read(found, chosen)
        except FormatError as error:
            self.note(error, offset=found.offset)
        self.toolkit = self.toolkit or view.toolkit
        self._found.append(
            Container(
                offset=found.offset,
                entries=found.entries,
                chosen=chosen,
                named_by=found.kept if self._device else -1,
                kernels=view.kernels,
            )
        )

    def note(self, error: FormatError, offset: int = -1) -> None:
        """Keep a complaint; only so many."""
        if len(self.unknowns) < _MAX_UNKNOWNS:
            place = error.offset if offset < 0 else offset
            self.unknowns.append(
                Unknown(where=f"@{place:#x}" if place >= 0 else "", why=error.reason, topic=TOPIC)
            )

    def containers(self, relocatable: list[tuple[int, int]]) -> Iterable[Container]:
        """All of them; those inside `relocatable` are never loaded, whatever their entries."""
        ranges = sorted(relocatable)
        at, reach = 0, -1
        for container in sorted(self._found, key=lambda found: found.offset):
            while at < len(ranges) and ranges[at][0] <= container.offset:
                reach = max(reach, ranges[at][1])
                at += 1
            if container.offset < reach:
                yield msgspec.structs.replace(
                    container, relocatable=True, chosen=-1, named_by=-1, kernels=()
                )
            else:
                yield container

    def _read(self, found: ScannedContainer, chosen: int) -> PayloadView:
        if self._device is None:
            if found.kept < 0 or self.toolkit:
                return PayloadView(())
            entry = found.entries[found.kept]
            self._tries += 1
            self._spend(entry)
            return PayloadView((), read_toolkit(entry, found.payload))
        wanted = chosen if chosen >= 0 else found.kept
        if wanted < 0:
            return PayloadView(())
        entry = found.entries[wanted]
        if found.kept != wanted:
            raise FormatError(f"entry of {entry.stored_bytes} bytes is too large to read")
        self._spend(entry)
        return read_payload(entry, found.payload, found.offset, loads=chosen >= 0)

    def _spend(self, entry: Entry) -> None:
        if entry.size_bytes > self._budget_bytes:
            raise FormatError("payloads unpack to far more than the file could hold: not read")
        self._budget_bytes -= entry.size_bytes


def _read_loose(path: str, scan: DeviceScan, device: ComputeCapability | None) -> MemberView:
    try:
        image = scan.read_all(MAX_PAYLOAD_BYTES)
        if path.endswith(".ptx"):
            return MemberView(loose=_loose_ptx(path, image, device))
        return MemberView(loose=_loose_cubin(path, image, device))
    except FormatError as error:
        return MemberView(unknowns=(Unknown.from_error(error.within(path), TOPIC),))


def _loose_ptx(path: str, text: bytes, device: ComputeCapability | None) -> LooseCode:
    header = parse_ptx_header(text)
    names = parse_ptx([text]).kernels if device else ()
    entry = Entry(
        kind=CodeKind.PTX,
        arch=header.arch,
        stored_bytes=len(text),
        size_bytes=len(text),
        isa_version=header.isa_version,
    )
    kernels = tuple(Kernel(name) for name in names)
    return LooseCode(path, entry, kernels=kernels, toolkit=header.toolkit)


def _loose_cubin(path: str, image: bytes, device: ComputeCapability | None) -> LooseCode:
    elf = parse_cubin(image)
    told = parse_arch(elf)
    entry = Entry(
        kind=CodeKind.CUBIN, arch=told.arch, stored_bytes=len(image), size_bytes=len(image)
    )
    loads = device is not None and choose_entry([entry], device, load_rules()).index == 0
    kernels = read_cubin(image, loads=loads).kernels if device else ()
    return LooseCode(path, entry, told.suffix_known, kernels, parse_toolkit(elf))


def _placed(path: str, unknowns: list[Unknown]) -> tuple[Unknown, ...]:
    return tuple(
        msgspec.structs.replace(unknown, where=f"{path}{unknown.where}") for unknown in unknowns
    )
