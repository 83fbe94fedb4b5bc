"""Laws of the small parsers: any bytes end in an answer or a FormatError, fast ways equal slow."""

from __future__ import annotations

import contextlib
import struct
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import Compression
from sparkproof.devicecode.families import family_book
from sparkproof.devicecode.member import read_member
from sparkproof.facts.loading import opcodes
from sparkproof.formats.ar import MAGIC as AR_MAGIC
from sparkproof.formats.ar import MAX_MEMBERS
from sparkproof.formats.cubin import parse_arch, parse_cubin, parse_kernels, parse_toolkit
from sparkproof.formats.device_scan import MAX_ENTRIES, DeviceScan
from sparkproof.formats.fatbin import MAGIC
from sparkproof.formats.mangled import parse_outer_name
from sparkproof.formats.payload import iterate_payload, unpack_payload
from sparkproof.formats.ptx import parse_ptx
from sparkproof.formats.sass import count_opcodes

CODES = tuple(code for opcode in opcodes() for code in opcode.codes)
WORDS = st.one_of(st.sampled_from(CODES), st.integers(0, (1 << 64) - 1))


@given(st.lists(WORDS, max_size=60), st.integers(0, 15))
def test_counting_by_planes_equals_counting_one_by_one(words: list[int], rest: int) -> None:
    code = b"".join(struct.pack("<QQ", word, ~word % (1 << 64)) for word in words) + bytes(rest)
    slow = Counter(word & 0xFFF for word in words)
    assert count_opcodes(code, CODES) == {opcode: slow[opcode] for opcode in CODES}


@given(st.text(max_size=200), st.sampled_from(["", "_Z", "_ZN", "_ZNK", "_ZN6marlin6Marlin"]))
def test_any_symbol_has_a_name_and_a_family(text: str, prefix: str) -> None:
    symbol = prefix + text
    with contextlib.suppress(FormatError):
        assert parse_outer_name(symbol)
    assert len(family_book().sort([symbol])) == 1


@given(st.binary(max_size=400), st.sampled_from(list(Compression)), st.integers(0, 1 << 62))
def test_any_payload_ends_in_bytes_or_one_error(
    data: bytes, compression: Compression, size: int
) -> None:
    with contextlib.suppress(FormatError):
        unpack_payload(data, compression, size)
    with contextlib.suppress(FormatError):
        list(iterate_payload(data, compression, size))


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_any_text_is_ptx_or_one_error(pieces: list[bytes]) -> None:
    with contextlib.suppress(FormatError):
        parse_ptx([b".version 9.0\n.target sm_80\n", *pieces])
    with contextlib.suppress(FormatError):
        parse_ptx(pieces)


@given(st.binary(max_size=600))
def test_any_elf_is_a_cubin_or_one_error(data: bytes) -> None:
    head = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(9) + struct.pack("<H", 190)
    with contextlib.suppress(FormatError):
        elf = parse_cubin(head + data)
        parse_arch(elf)
        parse_kernels(elf)
        parse_toolkit(elf)


@settings(max_examples=60)
@given(
    st.binary(max_size=300),
    st.sampled_from(
        [b"", AR_MAGIC, b"\x7fELF\x02\x01\x01", MAGIC + struct.pack("<HHQ", 1, 16, 99)]
    ),
    st.integers(1, 64),
)
def test_any_file_is_scanned_to_its_end_in_any_chunks(data: bytes, head: bytes, size: int) -> None:
    whole = head + data
    one = list(DeviceScan(iter([whole]), len(whole)))
    pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
    assert list(DeviceScan(iter(pieces), len(whole))) == one


def test_countless_empty_containers_end_in_an_unknown() -> None:
    data = (MAGIC + struct.pack("<HHQ", 1, 16, 0)) * (MAX_ENTRIES + 10)
    view = read_member("bomb", len(data), iter([data]), None)
    assert view.library is not None
    assert len(view.library.containers) <= MAX_ENTRIES
    assert any("not read further" in unknown.why for unknown in view.unknowns)


def test_countless_archive_members_end_in_an_unknown() -> None:
    member = b"x".ljust(48) + b"0".ljust(10) + b"`\n"
    data = AR_MAGIC + member * (MAX_MEMBERS + 10)
    view = read_member("bomb.a", len(data), iter([data]), None)
    assert any("members" in unknown.why for unknown in view.unknowns)


def test_countless_needed_libraries_and_names_are_bounded() -> None:
    name = b"lib%06d.so.1\0"
    strings = b"\0" + b"".join(name % i for i in range(20000))
    start = 64 + 2 * 56
    dynamic = struct.pack("<QQ", 5, start) + struct.pack("<QQ", 1, 1) * 60000
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    whole = start + len(strings) + len(dynamic)
    programs = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, whole, whole, 8)
    at, size = start + len(strings), len(dynamic)
    programs += struct.pack("<IIQQQQQQ", 2, 4, at, at, at, size, size, 8)
    data = header + programs + strings + dynamic
    view = read_member("many.so", len(data), iter([data]), None)
    assert view.library is not None
    assert view.library.needed == ("lib000000.so.1",)
