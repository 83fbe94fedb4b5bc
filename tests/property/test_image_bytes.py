"""Images: any damage ends in one error; merged layers are what an engine would unpack."""

from __future__ import annotations

import gzip
import json
import posixpath
from collections.abc import Callable, Iterator
from typing import Any

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.image_name import parse_image_name
from sparkproof.formats.layer_index import LayerReader
from sparkproof.formats.layer_merge import LayerStack
from sparkproof.formats.layer_stream import open_layer
from sparkproof.formats.oci import (
    choose_platform,
    parse_config,
    parse_container_image,
    parse_document,
    parse_saved_list,
)
from sparkproof.formats.tar_stream import TarStream
from sparkproof.testing.images import Entry, files, hard_link, link, opaque, removed, tar_bytes

SITE = "lib/python3.12/site-packages"
LAYER = tar_bytes(
    [
        *files({f"{SITE}/vllm/a.py": b"a" * 700, "d/" * 60 + "x.so": b"x", "etc/os-release": b""}),
        link("usr/bin/python3", "python3.12"),
        hard_link(f"{SITE}/vllm/b.py", f"{SITE}/vllm/a.py"),
        removed(f"{SITE}/torch"),
        opaque(f"{SITE}/flashinfer"),
    ]
)
STORED = (LAYER, gzip.compress(LAYER), zstandard.compress(LAYER))
DIGEST = "sha256:" + "ab" * 32
ITEM = {"digest": DIGEST, "size": 5, "mediaType": "application/vnd.oci.image.layer.v1.tar"}
DOCUMENTS: tuple[tuple[Any, Callable[[bytes, str], object]], ...] = (
    ({"schemaVersion": 2, "config": ITEM, "layers": [ITEM]}, parse_document),
    ({"schemaVersion": 2, "manifests": [{**ITEM, "platform": {"os": "linux"}}]}, parse_document),
    (
        {
            "architecture": "arm64",
            "os": "linux",
            "created": "2026-11-20T08:00:00Z",
            "config": {"Env": ["A=1"], "Labels": {"x": "y"}, "Cmd": ["a"]},
            "rootfs": {"diff_ids": [DIGEST]},
            "history": [{"created_by": "x"}],
        },
        parse_config,
    ),
    ([{"Config": "c.json", "RepoTags": ["a:b"], "Layers": ["l"]}], parse_saved_list),
    ([{"Image": "sha256:1"}], parse_container_image),
)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@given(
    st.sampled_from(STORED),
    st.integers(0, 10**6),
    st.binary(max_size=4),
    st.integers(0, 10**6),
    st.sampled_from([1, 97, 512, 100_000]),
)
def test_a_damaged_layer_is_read_or_refused(
    stored: bytes, at: int, patch: bytes, cut: int, size: int
) -> None:
    at %= len(stored)
    damaged = (stored[:at] + patch + stored[at + len(patch) :])[: len(stored) - cut % 50]
    try:
        index = LayerReader().read(open_layer(pieces(damaged, size)))
    except FormatError:
        return
    assert len(index.files) < 10


@given(st.binary(max_size=3000))
def test_any_bytes_are_a_layer_or_an_error(data: bytes) -> None:
    try:
        for _ in TarStream(open_layer(pieces(data, 700))):
            pass
    except FormatError:
        pass


@given(st.sampled_from(DOCUMENTS), st.integers(0, 10**6), st.binary(max_size=3))
def test_a_damaged_document_is_read_or_refused(
    document: tuple[Any, Callable[[bytes, str], object]], at: int, patch: bytes
) -> None:
    value, parse = document
    data = json.dumps(value).encode()
    at %= len(data)
    try:
        found = parse(data[:at] + patch + data[at + len(patch) :], "x")
        if isinstance(found, tuple) and parse is parse_document:
            choose_platform(found, "arm64", "x")
    except FormatError:
        pass


@given(st.text(max_size=80))
def test_any_text_is_an_image_name_or_refused(text: str) -> None:
    try:
        name = parse_image_name(text)
    except UsageError:
        return
    again = parse_image_name(("http://" if name.plain else "") + name.title)
    assert (again.repository, again.tag, again.digest) == (name.repository, name.tag, name.digest)


NAMES = st.sampled_from(["vllm", "a", "b"])
FOLDERS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/".join(["opt", *parts]))
ENTRIES = st.one_of(
    FOLDERS.map(lambda p: ("file", p)),
    FOLDERS.map(lambda p: ("removed", p)),
    FOLDERS.map(lambda p: ("opaque", p)),
)


def as_entry(kind: str, path: str, number: int) -> Entry:
    if kind == "file":
        return files({f"{path}/vllm/f.py": str(number).encode()})[0]
    return removed(path) if kind == "removed" else opaque(path)


def unpacked(layers: list[list[tuple[str, str]]]) -> dict[str, str]:
    """What an engine would have on disk: whiteouts first, then files, layer by layer."""
    disk: dict[str, str] = {}
    for number, layer in enumerate(layers):
        for kind, path in layer:
            if kind != "file":
                gone = [p for p in disk if p == path or p.startswith(path + "/")]
                for name in gone:
                    del disk[name]
        for kind, path in layer:
            if kind == "file":
                disk[f"{path}/vllm/f.py"] = str(number)
    return disk


@given(st.lists(st.lists(ENTRIES, max_size=4), max_size=5))
def test_merged_layers_are_what_an_engine_unpacks(layers: list[list[tuple[str, str]]]) -> None:
    stack = LayerStack()
    for number in reversed(range(len(layers))):
        entries = [as_entry(kind, path, number) for kind, path in layers[number]]
        stack.add(number, LayerReader().read(iter((tar_bytes(entries),))))
    stack.finish()
    found = {path: placed.file.read().decode() for path, placed in stack.files.items()}
    assert found == unpacked(layers)


LINKS = st.dictionaries(
    st.sampled_from(["a", "b", "a/c", "d"]),
    st.sampled_from(["/b", "..", "../../..", "d", "c", "/a/c", "a/../b", "."]),
)


@given(LINKS, st.lists(st.sampled_from(["a", "b", "c", "d", "..", "."]), max_size=6))
def test_links_never_lead_out(links: dict[str, str], parts: list[str]) -> None:
    stack = LayerStack()
    stack.links = links
    found = stack.resolve("/".join(parts))
    assert not found.startswith(("/", ".."))
    assert found == "" or posixpath.normpath(found) == found
