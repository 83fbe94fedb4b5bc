"""Files that are no text, told by what they are."""

from __future__ import annotations

import gzip
import random

import pytest

from sparkproof.formats.magic import kind_by_bytes, known_kind

LOG = "(APIServer pid=1) INFO:     Application startup complete. äöü ▄▄ ▄█\n" * 9


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (gzip.compress(b"x", mtime=0), "gzip-compressed"),
        (b"\x28\xb5\x2f\xfd\0", "zstd-compressed"),
        (b"BZh91AY&SY\x01", "bzip2-compressed"),
        (b"\xfd7zXZ\0", "xz-compressed"),
        (b"PK\x03\x04\x14", "a ZIP archive"),
        (b"a" * 257 + b"ustar\0", "a tar archive"),
        ("\ufeff" + LOG, "text in UTF-16"),
        (b"\x7fELF\x02", "a program or library (ELF)"),
        (b"MZ\x90\0\x03", "a program for Windows"),
        (b"LPKSHHRH", "a journal file"),
        (b"%PDF-1.7", "a PDF document"),
    ],
)
def test_by_the_first_bytes(head: bytes | str, name: str) -> None:
    data = head if isinstance(head, bytes) else head.encode("utf-16-le")
    kind = known_kind(data)
    assert kind is not None
    assert kind.name == name


@pytest.mark.parametrize(
    "text", [LOG, "MZ is no program\n", "BZhang wrote\n", "", "\x1b[32mINFO\x1b[0m \r 10%|█"]
)
def test_a_text_is_none_of_them(text: str) -> None:
    for data in (text.encode(), text.encode("latin-1", "replace")):
        assert known_kind(data) is None
        assert kind_by_bytes(data) is None


def test_by_the_bytes_within() -> None:
    noise = random.Random(0).randbytes(4096)
    for data, name in (
        (b"Address already in use\0\0\0\x01\0\0pow() 3rd\0", "binary data"),
        (noise, "binary data"),
        (LOG.encode("utf-16-le"), "text in UTF-16"),
        (LOG.encode("utf-16-be"), "text in UTF-16"),
    ):
        kind = kind_by_bytes(data)
        assert kind is not None
        assert kind.name == name


def test_a_hole_in_a_log_is_no_binary_data() -> None:
    data = LOG.encode()
    assert kind_by_bytes(data + b"\0" * 9000 + data) is None
    assert kind_by_bytes(b"\0" * 9000 + data) is None
    assert kind_by_bytes(b"\0" * 9000) is None
