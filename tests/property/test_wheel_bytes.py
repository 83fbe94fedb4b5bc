"""Any damage to a wheel or sdist ends in an answer or in one error type."""

from __future__ import annotations

import hashlib
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.adapters.http import HttpClient, Remote
from sparkproof.adapters.remote import BLOCK_BYTES, RangeSource
from sparkproof.adapters.sdist import SdistArtifact
from sparkproof.adapters.zip_artifact import ZipArtifact
from sparkproof.core.errors import FormatError
from sparkproof.core.ports import Artifact
from sparkproof.testing.artifacts import BytesSource, sdist_bytes, zip_bytes

FILES = {"vllm/_C.so": bytes(range(256)) * 8, "vllm/a.py": b"a = 1\n" * 40, "t": b""}
WHEEL = zip_bytes(FILES, stored=frozenset({"vllm/a.py"}))
SDIST = sdist_bytes(FILES)
CONTENTS = set(FILES.values())

flips = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), min_size=1, max_size=6, unique=True
)


def damaged(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    broken = bytearray(data)
    for at, mask in changes:
        broken[at % len(broken)] ^= mask
    return bytes(broken)


def answers(artifact: Artifact) -> dict[str, bytes]:
    found = {}
    for member in artifact.members():
        try:
            found[member.path] = artifact.read(member.path)
        except FormatError:
            continue
    return found


@given(flips)
@settings(max_examples=300)
def test_flipped_wheel(changes: list[tuple[int, int]]) -> None:
    try:
        artifact = ZipArtifact(BytesSource(damaged(WHEEL, changes)), "x.whl")
    except FormatError:
        return
    assert set(answers(artifact).values()) <= CONTENTS, "a checksum let damage through"


@given(st.integers(0, len(WHEEL) - 1))
@settings(max_examples=150)
def test_truncated_wheel(length: int) -> None:
    try:
        ZipArtifact(BytesSource(WHEEL[:length]), "x.whl")
    except FormatError:
        return
    raise AssertionError("a truncated wheel was opened")


@given(st.binary(max_size=400))
@settings(max_examples=150)
def test_noise(data: bytes) -> None:
    for kind in (ZipArtifact, SdistArtifact):
        try:
            kind(BytesSource(data), "x")
        except FormatError:
            continue
        raise AssertionError("noise was opened")


@given(flips)
@settings(max_examples=200)
def test_flipped_sdist(changes: list[tuple[int, int]]) -> None:
    try:
        artifact = SdistArtifact(BytesSource(damaged(SDIST, changes)), "x.tar.gz")
    except FormatError:
        return
    answers(artifact)


@given(st.integers(0, len(SDIST) - 1))
@settings(max_examples=100)
def test_truncated_sdist(length: int) -> None:
    try:
        SdistArtifact(BytesSource(SDIST[:length]), "x.tar.gz")
    except FormatError:
        return
    raise AssertionError("a truncated sdist was opened")


names = st.text(st.characters(codec="utf-8", exclude_characters="/\\:\0", exclude_categories=["C"]))
paths = st.lists(names.filter(lambda n: n not in ("", ".", "..")), min_size=1, max_size=4).map(
    "/".join
)


@given(st.dictionaries(paths, st.binary(max_size=2000), max_size=8), st.booleans())
@settings(max_examples=100)
def test_what_is_put_in_comes_out(files: dict[str, bytes], compress: bool) -> None:
    files = {p: d for p, d in files.items() if not any(q.startswith(p + "/") for q in files)}
    wheel = ZipArtifact(BytesSource(zip_bytes(files, compress=compress)), "x.whl")
    assert answers(wheel) == files
    if files:
        assert answers(SdistArtifact(BytesSource(sdist_bytes(files)), "x.tar.gz")) == files


class Slices:
    """An HTTP client that needs no HTTP."""

    def read_range(self, remote: Remote, offset: int, length: int) -> bytes:
        assert length > 0
        assert offset + length <= remote.size_bytes
        return LONG[offset : offset + length]

    def close(self) -> None:
        """Nothing to do."""


LONG = hashlib.shake_256(b"long").digest(9 * BLOCK_BYTES + 77)
spots = st.tuples(st.integers(0, len(LONG) + 5), st.integers(0, 5 * BLOCK_BYTES))


@given(st.lists(spots, max_size=12), st.integers(1, 6))
@settings(max_examples=100)
def test_any_walk_over_ranges_gives_the_same_bytes(
    walk: list[tuple[int, int]], kept_blocks: int
) -> None:
    remote = Remote("http://h/x.whl", len(LONG), "", ranges=True)
    source = RangeSource(cast("HttpClient", Slices()), remote, kept_blocks=kept_blocks)
    for offset, length in walk:
        assert source.read_at(offset, length) == LONG[offset : offset + length]
