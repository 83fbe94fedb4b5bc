"""The second look at an image finds what the first one read, and asks its layers for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.images import metadata, small_image

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.core.errors import SparkproofError
from sparkproof.core.report import Report
from sparkproof.core.results.image import ImageResult
from sparkproof.testing.images import ImageFolder
from sparkproof.usecases.image import look_at_image

FILES = {"vllm/__init__.py": b"", **metadata("vllm", "0.33.0")}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    folder = ImageFolder(tmp_path / "image")
    small_image(folder, FILES)
    return folder.folder


def look(image: Path, cache: ArtifactCache | None, device: str = "gb10") -> Report[ImageResult]:
    return look_at_image(str(image), device=device, cache=cache)


def without_layers(image: Path) -> None:
    """All blobs but the documents, which are JSON."""
    for blob in (image / "blobs" / "sha256").iterdir():
        if not blob.read_bytes().startswith(b"{"):
            blob.unlink()


def test_the_second_look_reads_no_layer(image: Path, tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path / "cache")
    first = look(image, cache)
    without_layers(image)
    again = look(image, cache)
    assert again.result == first.result
    assert again.subjects == first.subjects
    assert (again.verdict, again.findings, again.unknowns) == (
        first.verdict,
        first.findings,
        first.unknowns,
    )


def test_another_device_and_no_cache_read_again(image: Path, tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path / "cache")
    look(image, cache)
    without_layers(image)
    for remembered, device in ((cache, "h200"), (None, "gb10")):
        with pytest.raises(SparkproofError):
            look(image, remembered, device)
