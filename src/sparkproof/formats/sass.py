"""Counting machine instructions by opcode, without disassembling.

On every architecture since sm_70 an instruction has 16 bytes and the low twelve bits of the first
word are its opcode (read off ``nvdisasm`` 13.5, 2026-11-29; undocumented).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

INSTRUCTION_BYTES = 16
_LOW_NIBBLE = bytes(value & 0x0F for value in range(256))


def count_opcodes(code: bytes | memoryview, opcodes: Collection[int]) -> dict[int, int]:
    """How often each of `opcodes` occurs in `code`.

    Works on whole byte planes at once: with at most 15 low bytes and 16 high nibbles to tell
    apart, both are mapped to small numbers, laid over each other and counted, all in C.
    A trailing fraction of an instruction is ignored.

    Args:
        opcodes: twelve-bit values with at most 15 distinct low bytes.
    """
    table, mark = _marks(frozenset(opcodes))
    usable = len(code) // INSTRUCTION_BYTES * INSTRUCTION_BYTES
    marks = bytes(code[0:usable:INSTRUCTION_BYTES]).translate(table)
    nibbles = bytes(code[1:usable:INSTRUCTION_BYTES]).translate(_LOW_NIBBLE)
    laid = (int.from_bytes(marks, "little") | int.from_bytes(nibbles, "little")).to_bytes(
        len(marks), "little"
    )
    return {opcode: laid.count(mark[opcode & 0xFF] << 4 | opcode >> 8) for opcode in opcodes}


@lru_cache(maxsize=8)
def _marks(opcodes: frozenset[int]) -> tuple[bytes, dict[int, int]]:
    """Translation of low bytes to marks in the high nibble, and the mark of each low byte."""
    lows = sorted({opcode & 0xFF for opcode in opcodes})
    if len(lows) > 15:
        raise ValueError("too many opcodes to count at once")
    mark = {low: index + 1 for index, low in enumerate(lows)}
    return bytes(mark.get(value, 0) << 4 for value in range(256)), mark
