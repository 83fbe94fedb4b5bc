"""An image in which vLLM is installed from its sources, or was installed twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.images import metadata
from tests.contract.test_images import VLLM, at_site, built, observed

from sparkproof.release.pins import BOX, read_metadata
from sparkproof.testing import images
from sparkproof.testing.images import ImageFolder

INFO = {path: data for path, data in VLLM.items() if ".dist-info/" in path}
SOURCES = {path: data for path, data in VLLM.items() if ".dist-info/" not in path}
IMPORT = b"import __editable___vllm_0_33_0_finder; __editable___vllm_0_33_0_finder.install()\n"
EDITABLE: dict[str, dict[str, bytes]] = {
    "a line": {"__editable__.vllm-0.33.0.pth": b"/workspace\n"},
    "a finder": {
        "__editable__.vllm-0.33.0.pth": IMPORT,
        "__editable___vllm_0_33_0_finder.py": b"MAPPING = {'vllm': '/workspace/vllm'}\n",
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> ImageFolder:
    return ImageFolder(tmp_path / "image")


@pytest.mark.parametrize("form", EDITABLE)
@pytest.mark.parametrize("stamped", [True, False])
def test_an_editable_installation_is_found(folder: ImageFolder, form: str, stamped: bool) -> None:
    sources = {p: d for p, d in SOURCES.items() if stamped or not p.endswith("_version.py")}
    site = at_site({**INFO, **EDITABLE[form]})
    image = observed(built(folder, site, images.files(sources, "workspace/")))
    assert image.vllm is not None
    assert (image.vllm.folder, image.vllm.number) == ("workspace", "0.33.0")
    assert image.vllm.stamped == ("0.33.0" if stamped else "")


@pytest.mark.parametrize("finder", [b"MAPPING = read()\n", b"MAPPING = {'vllm': '/mnt/vllm'}\n"])
def test_an_editable_installation_that_is_not_in_the_image(
    folder: ImageFolder, finder: bytes
) -> None:
    site = {**INFO, **EDITABLE["a finder"], "__editable___vllm_0_33_0_finder.py": finder}
    image = observed(built(folder, at_site(site)))
    assert image.vllms == ()
    assert image.installed["vllm"] == "0.33.0"


def test_the_stamp_counts_where_an_older_installation_left_its_metadata(
    folder: ImageFolder,
) -> None:
    artifact = built(folder, at_site({**VLLM, **metadata("vllm", "0.32.0")}))
    copy = observed(artifact).vllm
    assert copy is not None
    assert (copy.number, copy.version, copy.stated) == ("0.33.0", "0.33.0", ("0.32.0", "0.33.0"))
    found = read_metadata(artifact, "vllm", BOX)
    assert (found.version, found.source.path) == ("0.33.0", "vllm-0.33.0.dist-info/METADATA")
