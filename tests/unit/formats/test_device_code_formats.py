"""Headers, payloads, names and opcodes: what each parser says of well- and ill-formed bytes."""

from __future__ import annotations

import struct

import lz4.block
import pytest
import zstandard

from sparkproof.core.capability import Arch
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import CodeKind, Compression
from sparkproof.formats.fatbin import (
    MAGIC,
    parse_container_header,
    parse_entry_header,
)
from sparkproof.formats.mangled import long_arguments, parse_outer_name
from sparkproof.formats.payload import iterate_payload, unpack_payload
from sparkproof.formats.ptx import parse_ptx
from sparkproof.formats.sass import count_opcodes
from sparkproof.formats.scalar_type import parse_scalar_type

ROOM = 1 << 20


def entry(
    kind: int = 2,
    *,
    header: int = 64,
    payload: int = 64,
    packed: int = 0,
    arch: int = 120,
    flags: int = 0,
    size: int = 0,
) -> bytes:
    fields = (kind, 0x0101, header, payload, packed, 0, 8, 1, arch, 0, 0, flags, 0, size)
    return struct.pack("<HHIQIIHHIIIQQQ", *fields)


@pytest.mark.parametrize(
    ("flags", "suffix", "compression"),
    [
        (0x11, "", Compression.NONE),
        (0x100011, "a", Compression.NONE),
        (0x208011, "f", Compression.ZSTD),
        (0x102011, "a", Compression.LZ4),
    ],
)
def test_flags_tell_suffix_and_compression(
    flags: int, suffix: str, compression: Compression
) -> None:
    header = parse_entry_header(entry(flags=flags, packed=60, size=300), 0, ROOM)
    assert header.entry.arch == Arch(120, suffix)
    assert header.entry.compression is compression
    assert header.entry.isa_version == (1, 8)


def test_an_uncompressed_entry_has_the_size_of_its_payload() -> None:
    header = parse_entry_header(entry(payload=4096), 0, ROOM)
    assert (header.packed_bytes, header.entry.size_bytes) == (4096, 4096)


@pytest.mark.parametrize("size", [64, 72, 80, 96, 104, 112, 120])
def test_header_sizes_of_all_toolkits_are_walked(size: int) -> None:
    assert parse_entry_header(entry(1, header=size), 0, ROOM).header_bytes == size


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (entry()[:63], "cut short"),
        (entry(header=56), "claims 56"),
        (entry(header=1 << 20), "claims"),
        (entry(payload=ROOM), "are left"),
        (entry(payload=1 << 63), "are left"),
        (entry(kind=0x40), "unknown kind"),
        (entry(arch=3), "unknown architecture"),
        (entry(packed=65), "exceeds"),
        (entry(flags=0x300000), "at once"),
        (entry(flags=0xA000), "two compressions"),
    ],
)
def test_a_lying_entry_is_refused_with_its_offset(data: bytes, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint) as caught:
        parse_entry_header(data, 0x1234, ROOM)
    assert caught.value.offset == 0x1234


def test_a_container_of_another_version_is_not_known() -> None:
    assert parse_container_header(MAGIC + struct.pack("<HHQ", 1, 16, 8)).known
    assert not parse_container_header(MAGIC + struct.pack("<HHQ", 2, 16, 8)).known
    assert not parse_container_header(MAGIC + struct.pack("<HHQ", 1, 24, 8)).known
    with pytest.raises(FormatError):
        parse_container_header(MAGIC)


TEXT = b".version 9.0\n.target sm_80\n" + b"// nothing\n" * 5000


@pytest.mark.parametrize("compression", list(Compression))
def test_payloads_unpack_whole_and_piecewise(compression: Compression) -> None:
    data = {
        Compression.NONE: TEXT,
        Compression.LZ4: lz4.block.compress(TEXT, store_size=False),
        Compression.ZSTD: zstandard.compress(TEXT),
    }[compression]
    assert unpack_payload(data, compression, len(TEXT)) == TEXT
    assert b"".join(iterate_payload(data, compression, len(TEXT))) == TEXT


@pytest.mark.parametrize("compression", [Compression.LZ4, Compression.ZSTD])
@pytest.mark.parametrize("claim", [0, 1, len(TEXT) - 1, len(TEXT) + 1, 1 << 27, 1 << 63])
def test_a_wrong_size_is_no_way_to_memory(compression: Compression, claim: int) -> None:
    zstd = compression is Compression.ZSTD
    data = zstandard.compress(TEXT) if zstd else lz4.block.compress(TEXT, store_size=False)
    with pytest.raises(FormatError):
        unpack_payload(data, compression, claim, offset=7)
    with pytest.raises(FormatError):
        list(iterate_payload(data, compression, claim, offset=7))


def test_a_bomb_without_a_size_ends_at_the_claim() -> None:
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    bomb = packer.compress(bytes(64 << 20)) + packer.flush()
    with pytest.raises(FormatError):
        unpack_payload(bomb, Compression.ZSTD, 1 << 20)


@pytest.mark.parametrize(
    ("symbol", "parts"),
    [
        ("_ZN6marlin6MarlinILl1125899906910725EEEvPv", ("marlin", "Marlin")),
        ("_ZN16marlin_moe_wna166MarlinIfEEvv", ("marlin_moe_wna16", "Marlin")),
        ("_Z22compute_expert_offsetsPKiPiS1_i", ("compute_expert_offsets",)),
        ("_ZN4vllm39_GLOBAL__N__0123456789abcdef_4_x_cu_y_z4kernEv", ("vllm", "kern")),
        ("plain_c_name", ("plain_c_name",)),
        ("_Z", ("_Z",)),
    ],
)
def test_outer_names(symbol: str, parts: tuple[str, ...]) -> None:
    assert parse_outer_name(symbol) == parts


def test_a_length_beyond_the_symbol_is_refused() -> None:
    with pytest.raises(FormatError):
        parse_outer_name("_ZN99short")


def test_scalar_types_of_marlin() -> None:
    symbol = "_ZN6marlin6MarlinILl1125899906910725ELl562949953487106ELl2814749767172868ELi256EEvv"
    names = [parse_scalar_type(number).name for number in long_arguments(symbol)]
    assert names == ["e5m10", "e2m1", "e4m3"]
    assert parse_scalar_type(8 << 17 | 4 << 8).name == "u4b8"
    assert parse_scalar_type(1 << 16 | 7 << 8).name == "s8"


def test_opcodes_are_the_low_twelve_bits_of_each_instruction() -> None:
    words = [0x47F, 0x1047F, 0x95C, 0x15C, 0x47E, 0x947F]
    code = b"".join(struct.pack("<QQ", word, 0xFFFFFFFFFFFFFFFF) for word in words)
    assert count_opcodes(code + b"\x7f\x04", (0x47F, 0x95C)) == {0x47F: 3, 0x95C: 1}
    assert count_opcodes(b"", (0x47F,)) == {0x47F: 0}


@pytest.mark.parametrize("size", [1, 2, 19, 4096])
def test_ptx_kernels_are_found_across_pieces(size: int) -> None:
    text = (
        b"//\n// Cuda compilation tools, release 13.0, V13.0.88\n//\n"
        b".version 9.0\n.target sm_120f\n.address_size 64\n\n"
        b"// .entry commented_out(\n.visible .entry _Z5firstPf(\n"
        b".param .u64 p)\n{\nret;\n}\n\t.entry second ()\n{ret;}\n.weak .entry _Z5firstPf(\n"
    )
    # The header has to lie in the first piece, as it does: pieces of real texts have a megabyte.
    pieces = [text[:120], *(text[i : i + size] for i in range(120, len(text), size))]
    joined: list[bytes] = []
    for piece in pieces:
        if joined and b"\n" not in joined[-1]:
            joined[-1] += piece
        else:
            joined.append(piece)
    scan = parse_ptx(joined)
    assert scan.kernels == ("_Z5firstPf", "second")
    assert scan.header.arch == Arch(120, "f")
    assert (scan.header.isa_version, scan.header.toolkit) == ((9, 0), "13.0.88")


@pytest.mark.parametrize("text", [[], [b""], [b"not ptx\n"], [b".version 9.0\n"]])
def test_what_is_no_ptx_is_refused(text: list[bytes]) -> None:
    with pytest.raises(FormatError):
        parse_ptx(text)


def test_kinds_of_entries() -> None:
    kinds = [parse_entry_header(entry(kind), 0, ROOM).entry.kind for kind in (1, 2, 8)]
    assert kinds == [CodeKind.PTX, CodeKind.CUBIN, CodeKind.LTO_IR]
