"""Small files that claim much, or make work: bounded time and memory, and a word about it."""

from __future__ import annotations

import resource
import struct
import time

import lz4.block
import pytest
import zstandard

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.testing.artifacts import MemoryArtifact

GB10 = ComputeCapability(12, 1)
CUBIN, PTX = 2, 1
LZ4, ZSTD = 0x2011, 0x8011
HUGE_BYTES = 190 << 20
PTX_HEAD = b".version 9.0\n.target sm_120\n"
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")


def entry(kind: int, flags: int, payload: bytes, claimed_bytes: int) -> bytes:
    """One sm_120 entry whose header claims `claimed_bytes` once unpacked."""
    padding = bytes(-len(payload) % 8)
    stored = len(payload) + len(padding)
    sizes = (64, stored, len(payload), 0, 0, 9)
    return _ENTRY.pack(kind, 0x101, *sizes, 120, 0, 0, flags, 0, claimed_bytes) + payload + padding


def container(*entries: bytes) -> bytes:
    """One container."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def zstd(data: bytes) -> bytes:
    """One frame that states its size."""
    return zstandard.ZstdCompressor(level=1).compress(data)


def read(data: bytes, limit_s: float, device: ComputeCapability | None = GB10) -> DeviceCode:
    """Read `data` as one file, inside `limit_s`."""
    start = time.process_time()
    code = read_device_code(MemoryArtifact({"bomb.fatbin": data}), device)
    assert time.process_time() - start < limit_s
    return code


def cheap_zstd_frame() -> bytes:
    """A frame without a stated size that unpacks to far more than it says anywhere."""
    packer = zstandard.ZstdCompressor(level=1, write_content_size=False).compressobj()
    return packer.compress(bytes(HUGE_BYTES)) + packer.flush()


@pytest.mark.parametrize("kind", [CUBIN, PTX])
def test_sizes_that_lie_are_not_believed(kind: int) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pieces = [
        entry(kind, LZ4, b"\x1f\x00" * 40, HUGE_BYTES),
        entry(kind, LZ4, lz4.block.compress(bytes(4096), store_size=False), (1 << 64) - 1),
        entry(kind, ZSTD, zstd(bytes(4096)), HUGE_BYTES),
        entry(kind, ZSTD, zstd(bytes(4096)), 4095),
        entry(kind, ZSTD, zstd(bytes(4096)), (1 << 64) - 1),
    ]
    code = read(b"".join(map(container, pieces)), 2.0)
    assert len(code.libraries[0].containers) == len(pieces)
    assert len(code.unknowns) == len(pieces)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 64 << 10


@pytest.mark.parametrize("claimed", [4096, 0])
def test_a_frame_that_unpacks_to_more_than_claimed_stops(claimed: int) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    frame = cheap_zstd_frame()
    memory = max(memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    code = read(container(entry(CUBIN, ZSTD, frame, claimed)), 2.0)
    assert len(code.unknowns) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 64 << 10


@pytest.mark.parametrize("device", [None, GB10])
def test_many_bombs_cost_no_more_than_a_few(device: ComputeCapability | None) -> None:
    one = container(entry(CUBIN, ZSTD, zstd(bytes(HUGE_BYTES)), HUGE_BYTES))
    code = read(one * 100, 8.0, device)
    assert len(code.libraries[0].containers) == 100
    # Without a device only small entries are asked, for their toolkit, until enough have been.
    assert 0 < len(code.unknowns) <= 100 if device is None else len(code.unknowns) == 100
    assert "not read" in code.unknowns[-1].why


@pytest.mark.parametrize("per_line", [1, 15, 9000, 10**9])
def test_text_made_of_entry_marks_is_given_up(per_line: int) -> None:
    marks = (32 << 20) // 8
    lines = -(-marks // per_line)
    text = PTX_HEAD + (b".entry ;" * min(per_line, marks) + b"\n") * lines
    code = read(container(entry(PTX, ZSTD, zstd(text), len(text))), 8.0)
    assert len(code.unknowns) == 1


def test_thousands_of_tiny_entries_are_walked() -> None:
    tiny = entry(PTX, 0x11, b"", 0)
    code = read(container(*[tiny] * 50_000), 8.0)
    assert len(code.libraries[0].containers[0].entries) == 50_000


def test_nested_magics_do_not_multiply_work() -> None:
    inner = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 40)
    code = read(inner * 20_000, 8.0)
    assert code.unknowns
    assert len(code.unknowns) <= 512


def cubin(name: bytes, kernels: int, code_bytes: int) -> bytes:
    """A cubin whose kernels share one name and one body."""
    strings = b"\0" + name + b"\0"
    sections = b"\0.text\0.symtab\0.strtab\0"
    symbol = struct.pack("<IBBHQQ", 1, 2, 0x10, 1, 0, code_bytes)
    parts = [(1, 1, bytes(code_bytes), 0), (7, 2, symbol * kernels, 3)]
    parts += [(15, 3, strings, 0), (15, 3, sections, 0)]
    table, body = bytes(64), b""
    for title, kind, data, link in parts:
        place = 64 + len(body)
        table += struct.pack("<IIQQQQIIQQ", title, kind, 0, 0, place, len(data), link, 0, 1, 0)
        body += data
    ident = b"\x7fELF\x02\x01\x01\x41\x08".ljust(16, b"\0")
    sizes = (64, 0, 0, 64, 5, 4)
    where = (1, 0, 0, 64 + len(body), 0x6007802)
    return struct.pack("<16sHHIQQQIHHHHHH", ident, 2, 190, *where, *sizes) + body + table


def test_one_kernel_of_the_builder_is_read() -> None:
    image = cubin(b"k", 1, 64)
    code = read(container(entry(CUBIN, ZSTD, zstd(image), len(image))), 1.0)
    assert [k.name for k in code.libraries[0].containers[0].kernels] == ["k"]
    assert not code.unknowns


@pytest.mark.parametrize(
    ("name", "kernels", "code_bytes"),
    [(b"k" * 32_000, 60_000, 0), (b"_ZN6marlin6MarlinILl1EEEvv", 4000, 4 << 20)],
)
def test_kernels_that_share_a_body_or_a_name_are_not_paid_for_each(
    name: bytes, kernels: int, code_bytes: int
) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    image = cubin(name, kernels, code_bytes)
    code = read(container(entry(CUBIN, ZSTD, zstd(image), len(image))), 1.0)
    assert [unknown.why for unknown in code.unknowns] == ["kernels lie over each other"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 64 << 10
