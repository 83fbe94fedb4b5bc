"""Wheels that no honest builder makes: one clear error each, naming wheel and member."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from sparkproof.adapters.zip_artifact import ZipArtifact
from sparkproof.core.errors import FormatError
from sparkproof.testing.artifacts import BytesSource, zip_bytes

FILES = {"vllm/_C.so": b"\x7fELF" + bytes(5000), "vllm/a.py": b"a = 1\n" * 50}
CENTRAL = b"PK\x01\x02"
LOCAL = b"PK\x03\x04"
END = b"PK\x05\x06"


def opened(data: bytes) -> ZipArtifact:
    return ZipArtifact(BytesSource(data), "bad.whl")


def read_all(data: bytes) -> None:
    artifact = opened(data)
    for member in artifact.members():
        artifact.read(member.path, limit_bytes=1 << 30)


def patched(data: bytes, signature: bytes, offset: int, form: str, value: int) -> bytes:
    """The archive with one field of the first record of a kind replaced."""
    at = data.index(signature) + offset
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


def named(name: str) -> bytes:
    """An archive whose one member has a name that zipfile itself would not write."""
    good = zip_bytes({"n" * len(name.encode()): b"x"})
    return good.replace(b"n" * len(name.encode()), name.encode())


def fault(data: bytes, act: Callable[[bytes], object] = read_all) -> FormatError:
    with pytest.raises(FormatError) as caught:
        act(data)
    assert caught.value.where.startswith("bad.whl")
    return caught.value


def test_not_a_zip() -> None:
    assert "no zip archive" in fault(b"hello" * 100).reason
    assert "no zip archive" in fault(b"").reason


@pytest.mark.parametrize("cut", [1, 22, 60, 200, 400])
def test_truncated(cut: int) -> None:
    assert "cut off" in fault(zip_bytes(FILES)[:-cut]).message


def test_encrypted() -> None:
    data = patched(patched(zip_bytes(FILES), CENTRAL, 8, "<H", 1), LOCAL, 6, "<H", 1)
    error = fault(data)
    assert error.message == "bad.whl!vllm/_C.so@0x0: is encrypted"


def test_other_members_of_a_half_encrypted_wheel_can_be_read() -> None:
    artifact = opened(patched(zip_bytes(FILES), CENTRAL, 8, "<H", 1))
    assert artifact.read("vllm/a.py") == FILES["vllm/a.py"]


def test_unsupported_method() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.so", b"x" * 100)
    assert "method 12" in fault(buffer.getvalue()).reason


@pytest.mark.parametrize(
    "name",
    ["../etc/passwd", "/etc/passwd", "a/../../b", "a\\b", "c:/x", "a//b", "./a", "a/.", "nul\x01l"],
)
def test_names_that_lead_outside(name: str) -> None:
    error = fault(named(name), opened)
    assert "leads out" in error.reason
    assert error.offset > 0


def test_nul_in_a_name() -> None:
    assert "leads out" in fault(named("a\0b"), opened).reason


def test_a_name_that_is_not_utf8() -> None:
    data = zip_bytes({"nnnné": b"x"}).replace("nnnné".encode(), b"nnnn\xff\xff")
    assert "not UTF-8" in fault(data, opened).reason


def test_duplicate_names() -> None:
    data = zip_bytes({"aaaa.py": b"1", "aaab.py": b"2"}).replace(b"aaab.py", b"aaaa.py")
    error = fault(data, opened)
    assert error.where == "bad.whl!aaaa.py"
    assert "twice" in error.reason


def test_overlapping_members() -> None:
    data = zip_bytes(FILES)
    second = data.index(CENTRAL, data.index(CENTRAL) + 1)
    overlapped = data[: second + 42] + struct.pack("<L", 10) + data[second + 46 :]
    assert "overlaps" in fault(overlapped, opened).reason


def test_overlap_hidden_in_the_extra_field_of_the_local_header() -> None:
    data = patched(zip_bytes(FILES), LOCAL, 28, "<H", 60000)
    assert "overlaps" in fault(data).reason


def test_member_that_reaches_into_the_directory() -> None:
    data = patched(zip_bytes({"a.py": b"x" * 999}), CENTRAL, 42, "<L", 10_000)
    assert "directory" in fault(data, opened).reason


@pytest.mark.parametrize(
    ("offset", "form", "value"),
    [(8, "<H", 0), (14, "<L", 1), (18, "<L", 3), (22, "<L", 3), (30, "<B", 0x41), (0, "<L", 0)],
)
def test_local_header_that_disagrees(offset: int, form: str, value: int) -> None:
    error = fault(patched(zip_bytes(FILES), LOCAL, offset, form, value))
    assert error.where == "bad.whl!vllm/_C.so"
    assert "local header" in error.reason


def both(data: bytes, local: int, central: int, form: str, value: int) -> bytes:
    return patched(patched(data, LOCAL, local, form, value), CENTRAL, central, form, value)


def test_wrong_checksum() -> None:
    error = fault(both(zip_bytes(FILES), 14, 16, "<L", 0xDEADBEEF))
    assert "deadbeef is declared: damaged" in error.reason


def test_more_bytes_than_declared_is_a_bomb_and_is_stopped_early() -> None:
    data = zip_bytes({"a.so": bytes(50 << 20)})
    source = BytesSource(both(data, 22, 24, "<L", 1000))
    artifact = ZipArtifact(source, "bad.whl")
    with pytest.raises(FormatError, match="holds more than the 1000 bytes"):
        artifact.read("a.so")
    assert source.read_bytes < 400_000


def test_fewer_bytes_than_declared() -> None:
    assert "where it declares 5005" in fault(both(zip_bytes(FILES), 22, 24, "<L", 5005)).reason


def test_a_declared_size_that_deflate_can_not_reach() -> None:
    data = both(zip_bytes(FILES), 22, 24, "<L", 1 << 30)
    assert "zip bomb" in fault(data, opened).reason


def test_many_members_that_together_are_a_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zip_bytes({f"m{i}": bytes(1 << 20) for i in range(4)})
    read_all(data)
    monkeypatch.setattr("sparkproof.formats.zip_directory._FREE_TOTAL_BYTES", 1 << 20)
    assert "zip bomb" in fault(data, opened).reason


def test_stored_member_with_two_sizes() -> None:
    data = zip_bytes({"a.py": b"x" * 100}, compress=False)
    assert "two different sizes" in fault(both(data, 22, 24, "<L", 90), opened).reason


def test_compressed_bytes_that_do_not_inflate() -> None:
    data = zip_bytes({"a.py": b"hello world " * 99})
    at = data.index(b"a.py") + 4
    error = fault(data[:at] + b"\xff" * 12 + data[at + 12 :])
    assert error.where == "bad.whl!a.py"


def test_bytes_after_the_compressed_data() -> None:
    payload = zip_bytes({"a.py": b"hello world " * 99})
    end = payload.index(CENTRAL)
    stored = struct.unpack_from("<L", payload, 18)[0]
    grown = payload[:end] + b"junk" + payload[end:]
    grown = both(grown, 18, 20, "<L", stored + 4)
    grown = patched(grown, END, 16, "<L", end + 4)
    assert "after its compressed data" in fault(grown).reason


@pytest.mark.parametrize(("offset", "value"), [(8, 9), (10, 9), (4, 1), (12, 7), (16, 3)])
def test_end_record_that_lies(offset: int, value: int) -> None:
    form = "<L" if offset >= 12 else "<H"
    fault(patched(zip_bytes(FILES), END, offset, form, value), opened)


def test_directory_that_claims_too_much() -> None:
    data = patched(zip_bytes(FILES), END, 12, "<L", 0xFFFFFFF0)
    assert "too large" in fault(data, opened).reason


def test_data_in_front_of_the_archive() -> None:
    assert "does not end where it should" in fault(b"#!/bin/sh\n" + zip_bytes(FILES)).reason


def test_zip64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    data = zip_bytes(FILES)
    assert b"PK\x06\x06" in data
    artifact = opened(data)
    assert {m.path: artifact.read(m.path) for m in artifact.members()} == FILES


def test_zip64_record_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    data = zip_bytes(FILES)
    assert "locator" in fault(data.replace(b"PK\x06\x06", b"PK\x06\x00"), opened).reason
    assert "outside" in fault(patched(data, b"PK\x06\x07", 8, "<Q", 1 << 60), opened).reason


def test_archive_with_a_comment_and_a_folder() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.mkdir("vllm")
        archive.writestr("vllm/a.py", b"1")
        archive.comment = b"built " + END + b" today" * 20
    artifact = opened(buffer.getvalue())
    assert [m.path for m in artifact.members()] == ["vllm/a.py"]


def test_archive_written_as_a_stream_with_descriptors() -> None:
    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

        def tell(self) -> int:
            raise io.UnsupportedOperation

    buffer = Unseekable()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.py", b"hello " * 100)
    artifact = opened(buffer.getvalue())
    assert artifact.read("a.py") == b"hello " * 100


def test_reading_the_directory_reads_little() -> None:
    source = BytesSource(zip_bytes({"big.so": bytes(range(256)) * 40_000}, compress=False))
    ZipArtifact(source, "x.whl")
    assert source.read_bytes < 100_000


def test_inflating_without_isal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkproof.formats.inflate._fast", None)
    artifact = opened(zip_bytes(FILES))
    assert artifact.read("vllm/_C.so") == FILES["vllm/_C.so"]
