"""A short fuzz run: damaged fixtures end in an answer or an `Unknown`, quickly, in little memory.

Seeded, so a failure repeats; ``SPARKPROOF_FUZZ_SEED`` and ``SPARKPROOF_FUZZ_ROUNDS`` (cases for
each fixture) make it another run or a longer one.
"""

from __future__ import annotations

import os
import random
import resource
import struct
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest
from tests.oracle import fixtures

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.testing.artifacts import MemoryArtifact

SEED = int(os.environ.get("SPARKPROOF_FUZZ_SEED", "20261129"))
ROUNDS = int(os.environ.get("SPARKPROOF_FUZZ_ROUNDS", "200"))
SLOWEST_S = 2.0
MOST_MEMORY_KIB = 256 << 10

FIXTURES = fixtures.containers() | fixtures.loose()
DEVICES = (None, ComputeCapability(12, 1), ComputeCapability(9, 0))
CONTAINER_MAGIC = b"\x50\xed\x55\xba"
ELF_MAGIC = b"\x7fELF"
HEADER_REACH = 192
LIES = (
    *(0, 1, 7, 8, 15, 16, 63, 64, 65, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    *(1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (192 << 20) - 1, (192 << 20) + 1),
)

Damage = Callable[[random.Random, bytearray], None]


def flip_bits(rng: random.Random, data: bytearray) -> None:
    """A few anywhere."""
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flip_header_bits(rng: random.Random, data: bytearray) -> None:
    """A few where headers lie."""
    start = rng.choice(headers(data))
    for _ in range(rng.randint(1, 4)):
        data[min(start + rng.randrange(HEADER_REACH), len(data) - 1)] ^= 1 << rng.randrange(8)


def truncate(rng: random.Random, data: bytearray) -> None:
    """Somewhere, or right behind a header."""
    cut = rng.choice((rng.randrange(len(data)), rng.choice(headers(data)) + rng.randrange(200)))
    del data[cut:]


def lie(rng: random.Random, data: bytearray) -> None:
    """An extreme number in a header field of two, four or eight bytes."""
    for _ in range(rng.randint(1, 3)):
        code, width = rng.choice((("<H", 2), ("<I", 4), ("<Q", 8)))
        at = rng.choice(headers(data)) + rng.randrange(0, HEADER_REACH, width)
        if at + width <= len(data):
            value = rng.choice((*LIES, len(data), len(data) - at))
            struct.pack_into(code, data, at, value % (1 << 8 * width))


def lie_in_section_table(rng: random.Random, data: bytearray) -> None:
    """An extreme number in the section headers, which lie at the end."""
    at = max(0, len(data) - 64 * rng.randint(1, 24)) & ~7
    if at + 8 <= len(data):
        struct.pack_into("<Q", data, at, rng.choice(LIES))


def overlap(rng: random.Random, data: bytearray) -> None:
    """A header copied over something else."""
    source, target = rng.choice(headers(data)), rng.randrange(len(data))
    piece = data[source : source + rng.randint(16, HEADER_REACH)]
    data[target : target + len(piece)] = piece


def blank(rng: random.Random, data: bytearray) -> None:
    """A stretch of one value."""
    start = rng.randrange(len(data))
    length = min(rng.randint(1, 512), len(data) - start)
    data[start : start + length] = bytes((rng.choice((0, 0xFF, 0x20)),)) * length


DAMAGES: tuple[Damage, ...] = (
    *(flip_bits, flip_header_bits, flip_header_bits, truncate, lie, lie, lie),
    *(lie_in_section_table, overlap, blank),
)


def headers(data: bytearray) -> list[int]:
    """Offsets of everything that starts with a magic we follow; the start in any case."""
    return [0, *_all_of(data, CONTAINER_MAGIC), *_all_of(data, ELF_MAGIC)]


def _all_of(data: bytearray, magic: bytes) -> Iterator[int]:
    at = data.find(magic)
    while at >= 0:
        yield at
        at = data.find(magic, at + 1)


def damaged(rng: random.Random, data: bytes) -> bytes:
    """One to three kinds of damage."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        if len(result) > HEADER_REACH:
            rng.choice(DAMAGES)(rng, result)
    return bytes(result)


class SmallChunks(MemoryArtifact):
    """The same bytes in odd pieces."""

    def stream(self, path: str, *, chunk_bytes: int = 173) -> Iterator[bytes]:
        """As the fake, whatever size is asked for."""
        return super().stream(path, chunk_bytes=173)


def check_answer(code: DeviceCode, size: int) -> None:
    """What must hold of any answer."""
    for library in code.libraries:
        ends = [container.offset for container in library.containers]
        assert ends == sorted(set(ends))
        for container in library.containers:
            assert 0 <= container.offset < size
            assert -1 <= container.chosen < len(container.entries)
            assert sum(entry.stored_bytes for entry in container.entries) <= size * 2
    assert all(unknown.where and unknown.why for unknown in code.unknowns)
    assert msgspec.json.decode(msgspec.json.encode(code), type=DeviceCode) == code


@pytest.mark.parametrize("name", FIXTURES)
def test_damage_ends_in_an_answer(name: str) -> None:
    rng = random.Random(f"{SEED}/{name}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(ROUNDS):
        data = damaged(rng, FIXTURES[name])
        device = rng.choice(DEVICES)
        start = time.process_time()
        code = read_device_code(MemoryArtifact({name: data}), device)
        assert time.process_time() - start < SLOWEST_S, (SEED, name, number)
        check_answer(code, len(data))
        if number % 4 == 0:
            again = read_device_code(SmallChunks({name: data}), device)
            assert again == code, (SEED, name, number)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert grown < MOST_MEMORY_KIB, name


@pytest.mark.parametrize("name", ["mixed_many.so", "archive.a", "bare.fatbin", "scale_120f.cubin"])
def test_no_cut_hides_what_lies_before_it(name: str) -> None:
    data = FIXTURES[name]
    whole = read_device_code(MemoryArtifact({name: data}))
    for end in range(64, len(data), max(64, len(data) // 64)):
        code = read_device_code(MemoryArtifact({name: data[:end]}))
        check_answer(code, end)
        for library in code.libraries:
            for got, full in zip(library.containers, whole.libraries[0].containers, strict=False):
                assert got.offset == full.offset
                assert got.entries == full.entries[: len(got.entries)]
