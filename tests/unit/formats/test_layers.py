"""Tar entries, compressed layers, and layers laid over each other."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator

import pytest
import zstandard

from sparkproof.core.errors import FormatError
from sparkproof.formats.layer_index import LayerReader, PathBook
from sparkproof.formats.layer_merge import LayerStack
from sparkproof.formats.layer_stream import open_layer
from sparkproof.formats.tar_stream import EntryKind, TarStream
from sparkproof.testing.images import Entry, files, hard_link, link, opaque, removed, tar_bytes


def pieces(data: bytes, size: int = 1000) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def classic(form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, data in CONTENTS.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, kind in (("folder", tarfile.DIRTYPE), ("pipe", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            archive.addfile(info)
        info = tarfile.TarInfo("soft")
        info.type, info.linkname = tarfile.SYMTYPE, "t" * 150
        archive.addfile(info)
    return buffer.getvalue()


CONTENTS = {"a/b.py": b"b" * 700, "./c": b"", "d/" * 70 + "long.so": b"x" * 5000, "ü": b"u"}


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("size", [1, 511, 512, 513, 100_000])
def test_every_kind_of_tar_in_any_pieces(form: int, size: int) -> None:
    stream = TarStream(pieces(classic(form), size))
    found = {}
    for entry in stream:
        data = stream.read() if entry.kind is EntryKind.FILE else None
        found[entry.path] = (entry.kind, data, entry.target)
    for name, data in CONTENTS.items():
        assert found[name.removeprefix("./")] == (EntryKind.FILE, data, "")
    assert found["folder"][0] is EntryKind.FOLDER
    assert found["pipe"][0] is EntryKind.SPECIAL
    assert found["soft"] == (EntryKind.SYMBOLIC_LINK, None, "t" * 150)


def test_unread_data_is_passed_over() -> None:
    assert [entry.path for entry in TarStream(pieces(tar_bytes(files(CONTENTS))))] == [
        "a/b.py",
        "c",
        "d/" * 70 + "long.so",
        "ü",
    ]


@pytest.mark.parametrize("keep", [100, 600, 1100, 1500])
def test_a_cut_archive_is_found(keep: int) -> None:
    with pytest.raises(FormatError):
        list(TarStream(pieces(tar_bytes(files({"a": b"a" * 900}))[:keep])))


def test_old_sparse_files_are_passed_with_their_maps() -> None:
    info = tarfile.TarInfo("sparse")
    info.type, info.size = b"S", 600
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[482] = 1
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 256 + sum(header[156:]))
    data = bytes(header) + bytes(512) + bytes(1024) + tar_bytes(files({"after": b"x"}))
    kinds = {entry.path: entry.kind for entry in TarStream(pieces(data))}
    assert kinds == {"sparse": EntryKind.SPARSE, "after": EntryKind.FILE}


PLAIN = tar_bytes(files({"a": bytes(range(256)) * 9000}))


@pytest.mark.parametrize(
    "stored",
    [
        PLAIN,
        gzip.compress(PLAIN, mtime=0),
        gzip.compress(PLAIN, mtime=0) + bytes(1000),
        b"".join(gzip.compress(PLAIN[at : at + 999], mtime=0) for at in range(0, len(PLAIN), 999)),
        zstandard.compress(PLAIN),
        zstandard.compress(PLAIN[:5000]) + zstandard.compress(PLAIN[5000:]),
        b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstandard.compress(PLAIN),
    ],
    ids=["tar", "gzip", "padded", "members", "zstd", "frames", "skippable"],
)
@pytest.mark.parametrize("count", [3, 2000])
def test_every_compression(stored: bytes, count: int) -> None:
    assert b"".join(open_layer(pieces(stored, len(stored) // count + 1))) == PLAIN


@pytest.mark.parametrize(
    "stored",
    [
        gzip.compress(PLAIN, mtime=0)[:-9],
        gzip.compress(PLAIN, mtime=0) + b"junk",
        gzip.compress(PLAIN, mtime=0)[:-8] + b"\0\0\0\0" + gzip.compress(PLAIN, mtime=0)[-4:],
        zstandard.compress(PLAIN)[:-9],
    ],
)
def test_damage_is_found(stored: bytes) -> None:
    with pytest.raises(FormatError):
        list(TarStream(open_layer(pieces(stored))))


def test_a_bomb_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkproof.formats.layer_stream._FREE_BYTES", 1 << 20)
    bomb = zlib.compressobj(9, wbits=31)
    data = bomb.compress(bytes(1 << 24)) + bomb.flush()
    with pytest.raises(FormatError, match="bomb"):
        for _ in open_layer(pieces(data)):
            pass


def stacked(*layers: list[Entry]) -> LayerStack:
    stack = LayerStack()
    for number in reversed(range(len(layers))):
        stack.add(number, LayerReader().read(iter((tar_bytes(layers[number]),))))
    stack.finish()
    return stack


SITE = "lib/python3.12/site-packages"


def test_the_top_file_counts_and_the_lower_one_is_known() -> None:
    path = f"{SITE}/vllm/a.py"
    stack = stacked(files({path: b"old"}), files({path: b"new"}))
    assert stack.files[path].file.read() == b"new"
    assert stack.replaced == {path: [0]}


def test_whiteouts_reach_down_only() -> None:
    path = f"{SITE}/vllm/a.py"
    below = stacked(files({path: b"x"}), [removed(f"{SITE}/vllm")])
    above = stacked([removed(f"{SITE}/vllm")], files({path: b"x"}))
    same = stacked([opaque(SITE), *files({path: b"x"})])
    assert [path in stack.files for stack in (below, above, same)] == [False, True, True]


def test_links_are_resolved_within_the_root() -> None:
    stack = stacked([link("a", "/b/c"), link("b/c", "../../../d"), *files({"d/bin/nvcc": b"x"})])
    assert stack.resolve("a/bin/nvcc") == "d/bin/nvcc"
    assert stack.find("a/bin/nvcc") == "d/bin/nvcc"
    assert stack.find("a/bin/absent") == ""
    assert stacked([link("a", "b"), link("b", "a")]).resolve("a/x") == ""


def test_hard_links_to_other_layers_are_found() -> None:
    store = "root/.cache/vllm/a.py"
    stack = stacked(files({store: b"x"}), [hard_link(f"{SITE}/vllm/a.py", store)])
    assert stack.files[f"{SITE}/vllm/a.py"].file.read() == b"x"
    assert stack.unknowns == []


@pytest.mark.parametrize(
    ("path", "interest"),
    [
        (f"{SITE}/vllm/a.py", "KEPT"),
        (f"{SITE}/vllm/_C.so", "CODE"),
        (f"{SITE}/flashinfer/data/csrc/a.cu", "CODE"),
        (f"{SITE}/torch/lib/libtorch.so", "NONE"),
        (f"{SITE}/torch/lib/vllm/_C.so", "NONE"),
        ("root/.cache/uv/x/vllm/_C.so", "CODE"),
        ("workspace/vllm/vllm/a.py", "KEPT"),
        (f"{SITE}/torch/version.py", "KEPT"),
        (f"{SITE}/numpy-2.dist-info/METADATA", "KEPT"),
        (f"{SITE}/numpy-2.dist-info/LICENSE", "NONE"),
        (f"{SITE}/x.pth", "KEPT"),
        ("usr/bin/vllm", "KEPT"),
        ("usr/bin/python3.12", "LISTED"),
        ("usr/bin/python3-config", "NONE"),
        ("usr/local/cuda-13.0/bin/nvcc", "LISTED"),
        ("usr/share/doc/nvcc", "NONE"),
        ("var/lib/dpkg/status", "KEPT"),
    ],
)
def test_what_matters(path: str, interest: str) -> None:
    assert PathBook().interest(path).name == interest
