"""Our own answers, said in the words of the goldens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sparkproof.core.observations.device_code import (
    CodeKind,
    Compression,
    Container,
    Entry,
    Library,
)
from sparkproof.facts.loading import opcodes
from sparkproof.formats.cubin import parse_cubin, parse_kernels
from sparkproof.formats.device_scan import DeviceScan
from sparkproof.formats.payload import unpack_payload
from sparkproof.formats.sass import count_opcodes

CHUNK_BYTES = 64 << 10
Wanted = Callable[[int, Entry], bool]
_FAMILIES_OF_MNEMONICS = {"UTC": "UTCMMA"}


class Cubin(NamedTuple):
    """One unpacked cubin and its place among the cubins of its library."""

    ordinal: int
    entry: Entry
    image: bytes


def sha256(data: bytes) -> str:
    """Hash in the goldens' form."""
    return hashlib.sha256(data).hexdigest()


def chunks(data: bytes) -> Iterator[bytes]:
    """As an artifact would stream it."""
    for at in range(0, len(data), CHUNK_BYTES):
        yield data[at : at + CHUNK_BYTES]


def label(entry: Entry) -> str:
    """``cubin sm_120f 1.8 compressed``."""
    major, minor = entry.isa_version
    packed = "" if entry.compression is Compression.NONE else " compressed"
    return f"{entry.kind.value} {entry.arch} {major}.{minor}{packed}"


def in_tool_order(library: Library) -> list[Container]:
    """What is loaded comes first; each part in file order."""
    return sorted(library.containers, key=lambda c: (c.relocatable, c.offset))


def loaded(library: Library) -> list[Container]:
    """What cuobjdump shows without ``-all``: linked code, or else relocatable code."""
    linked = [c for c in library.containers if not c.relocatable]
    return linked or list(library.containers)


def labels(containers: Iterable[Container]) -> list[str]:
    """All entries of some containers."""
    return [label(entry) for container in containers for entry in container.entries]


def cubins(pieces: Iterator[bytes], size_bytes: int, wanted: Wanted) -> Iterator[Cubin]:
    """Unpack the cubins that `wanted`, given ordinal and entry, picks: one in each container."""
    counter = -1
    kept_ordinal = -1

    def keep(_index: int, entry: Entry) -> bool:
        nonlocal counter, kept_ordinal
        counter += entry.kind is CodeKind.CUBIN
        if entry.kind is not CodeKind.CUBIN or not wanted(counter, entry):
            return False
        kept_ordinal = counter
        return True

    for container in DeviceScan(pieces, size_bytes, keep):
        if container.kept >= 0:
            entry = container.entries[container.kept]
            image = unpack_payload(container.payload, entry.compression, entry.size_bytes)
            yield Cubin(kept_ordinal, entry, image)


def one_cubin(ordinal: int) -> Wanted:
    """For `cubins`: that one alone."""
    return lambda counter, _entry: counter == ordinal


def kernel_names(image: bytes) -> list[str]:
    """Sorted names of one cubin's kernels."""
    return sorted(kernel.name for kernel in parse_kernels(parse_cubin(image)))


def opcode_counts(image: bytes) -> dict[str, dict[str, int]]:
    """For each kernel: non-zero counts by the name of the fact, and all instructions."""
    elf = parse_cubin(image)
    codes = [code for opcode in opcodes() for code in opcode.codes]
    result = {}
    for kernel in parse_kernels(elf):
        found = count_opcodes(elf.slice(kernel.offset, kernel.size), codes)
        sums = {opcode.name: sum(found[code] for code in opcode.codes) for opcode in opcodes()}
        told = {name: count for name, count in sums.items() if count}
        result[kernel.name] = {**told, "instructions": kernel.size // 16}
    return result


def fact_of(mnemonic: str) -> str:
    """The name of the opcode fact that a mnemonic falls under."""
    return _FAMILIES_OF_MNEMONICS.get(mnemonic[:3], mnemonic)


def by_fact(counts: dict[str, int]) -> dict[str, int]:
    """A golden's counts by the name of the fact."""
    result: dict[str, int] = {}
    for mnemonic, count in counts.items():
        name = fact_of(mnemonic)
        result[name] = result.get(name, 0) + count
    return result
