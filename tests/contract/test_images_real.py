"""Images made of real wheels: every answer equals that of the wheel inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.contract.images import CONFIG, LINKS, SITE, base_entries, metadata, script

from sparkproof.adapters.image import ImageArtifact
from sparkproof.adapters.image_archive import open_saved
from sparkproof.adapters.zip_artifact import open_wheel
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.observations.image import ImageObservation
from sparkproof.core.report import Report
from sparkproof.core.results.image import ImageResult
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.image.observe import observe_image
from sparkproof.release.surface import read_surface
from sparkproof.testing import images
from sparkproof.testing.images import Entry, ImageFolder, Layer
from sparkproof.usecases.image import look_at_image

pytestmark = pytest.mark.artifact

GB10 = ComputeCapability(12, 1)
NEW, OLD = "vllm==0.33.0", "vllm==0.19.1"
VENV = "opt/venv/lib/python3.12/site-packages"
STAMP = b"__version__ = version = '0.1.dev1+gabc1234'\ncommit_id = 'gabc1234'\n"
REPLACED = "vllm/_moe_C_stable_libtorch.abi3.so"
Wheel = Callable[..., Path]


class Workshop:
    """Layers from wheels, written once, and images of them."""

    def __init__(self, folder: Path, wheel: Wheel) -> None:
        self.folder = folder
        self._wheel = wheel
        self._layout = ImageFolder(folder / "layers")
        self._layers: dict[str, Layer] = {}

    def wheel_layer(self, requirement: str, site: str, compression: str) -> Layer:
        key = f"{requirement} {site}"
        if key not in self._layers:
            entries = images.wheel_at(self._wheel(requirement), site)
            self._layers[key] = self._layout.layer(
                entries, f"RUN pip install {requirement}", compression=compression
            )
        return self._layers[key]

    def small(self, entries: list[Entry], command: str = "") -> Layer:
        return self._layout.layer(entries, command)

    def image(self, layers: list[Layer], tag: str) -> Path:
        """A layout with one image, its layers shared with all others."""
        folder = ImageFolder(self.folder / tag.replace(":", "-").replace("/", "-"))
        for layer in layers:
            link = folder.path(layer.digest)
            if not link.exists():
                link.hardlink_to(self._layout.path(layer.digest))
        folder.image(layers, name=tag, **CONFIG)
        return folder.folder


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, real_wheel: Wheel) -> Iterator[Workshop]:
    folder = tmp_path_factory.mktemp("images")
    yield Workshop(folder, real_wheel)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file():
            path.unlink()


def opened(path: Path) -> ImageArtifact:
    return ImageArtifact(open_saved(path, architecture="arm64"))


def own_code(real_wheel: Wheel, requirement: str) -> DeviceCode:
    wheel = open_wheel(real_wheel(requirement))
    try:
        return read_device_code(wheel, GB10)
    finally:
        wheel.close()


def rules(report: Report[ImageResult]) -> set[str]:
    return {f.rule for f in report.findings if f.rule.startswith("image/")}


def seen(report: Report[ImageResult]) -> ImageObservation:
    assert report.result is not None
    return report.result.image


@pytest.mark.parametrize(("requirement", "form"), [(NEW, "gzip"), (OLD, "zstd")])
def test_device_code_and_surface_are_the_wheel_s_own(
    workshop: Workshop, real_wheel: Wheel, requirement: str, form: str
) -> None:
    layer = workshop.wheel_layer(requirement, SITE, form)
    base = workshop.small(base_entries())
    path = workshop.image([base, layer, workshop.small(script())], f"vllm/x:{form}")
    artifact = opened(path)
    assert read_device_code(artifact, GB10) == own_code(real_wheel, requirement)
    wheel = open_wheel(real_wheel(requirement))
    assert msgspec.to_builtins(read_surface(artifact)) == msgspec.to_builtins(read_surface(wheel))
    wheel.close()


def test_a_good_image_passes(workshop: Workshop) -> None:
    layers = [workshop.small(base_entries()), workshop.wheel_layer(NEW, SITE, "gzip")]
    report = look_at_image(
        str(workshop.image([*layers, workshop.small(script())], "vllm/v:v0.33.0"))
    )
    assert (report.verdict.value, rules(report)) == ("pass", set())
    assert report.result is not None
    assert (report.result.cuda, report.result.box.nvcc, report.result.box.ninja) == (
        "13",
        True,
        True,
    )
    assert report.subjects[0].title == "vllm 0.33.0"


def test_a_build_of_cuda_12_9_under_a_tag_that_claims_13(workshop: Workshop) -> None:
    layers = [workshop.small(base_entries()), workshop.wheel_layer(OLD, SITE, "zstd")]
    path = workshop.image([*layers, workshop.small(script())], "vllm/v:v0.19.1-cu130")
    report = look_at_image(str(path))
    assert (report.verdict.value, rules(report)) == ("fail", {"image/cuda-claim"})


def test_a_mis_stamped_build_is_read_from_its_own_files(workshop: Workshop) -> None:
    stamp = [
        images.removed(f"{SITE}/vllm-0.33.0.dist-info"),
        *images.files(metadata("vllm", "0.1.dev1+gabc1234"), f"{SITE}/"),
        *images.files({"vllm/_version.py": STAMP}, f"{SITE}/"),
    ]
    layers = [workshop.small(base_entries()), workshop.wheel_layer(NEW, SITE, "gzip")]
    layers += [workshop.small(stamp, "RUN build"), workshop.small(script())]
    path = workshop.image(layers, "vllm/stamped:v0.33.0")
    report = look_at_image(str(path))
    assert rules(report) == {"image/development-build", "image/version-claim"}
    copy = seen(report).vllm
    assert copy is not None
    assert (copy.version, copy.commit) == ("0.1.dev1+gabc1234", "gabc1234")
    assert read_surface(opened(path)).version == "0.1.dev1+gabc1234"


def test_without_a_compiler(workshop: Workshop) -> None:
    slim = [*images.files({"usr/bin/python3.12": b"\x7fELF"})]
    slim += [images.link(path, target) for path, target in LINKS.items() if "python" in path]
    info = images.files(metadata("flashinfer-python", "0.6.13"), f"{SITE}/")
    layers = [workshop.small(slim), workshop.wheel_layer(NEW, SITE, "gzip")]
    layers += [workshop.small(info), workshop.small(script())]
    report = look_at_image(str(workshop.image(layers, "vllm/slim:v0.33.0")))
    assert rules(report) == {"image/flashinfer-without-tools"}
    assert report.result is not None
    assert (report.result.box.nvcc, report.result.box.ninja) == (False, False)


def test_a_later_layer_replaces_a_library(workshop: Workshop, real_wheel: Wheel) -> None:
    old = open_wheel(real_wheel("vllm==0.22.0"))
    library = next(m.path for m in old.members() if m.path.startswith("vllm/_moe_C"))
    size = next(m.size_bytes for m in old.members() if m.path == library)
    patch = [Entry(f"{SITE}/{REPLACED}", size, old.stream(library))]
    layers = [workshop.small(base_entries()), workshop.wheel_layer(NEW, SITE, "gzip")]
    layers += [workshop.small(patch, "COPY patched.so"), workshop.small(script())]
    path = workshop.image(layers, "vllm/patched:v0.33.0")
    report = look_at_image(str(path))
    assert rules(report) == {"image/replaced-file"}
    found = {x.path: x for x in read_device_code(opened(path), GB10).libraries}
    theirs = {x.path: x for x in read_device_code(old, GB10).libraries}
    assert found[REPLACED] == msgspec.structs.replace(theirs[library], path=REPLACED)
    old.close()


def test_of_two_copies_the_one_that_is_started_is_judged(
    workshop: Workshop, real_wheel: Wheel
) -> None:
    venv = [
        *images.files({"opt/venv/pyvenv.cfg": b"home = /usr/bin\n"}),
        images.link("opt/venv/bin/python", "/usr/bin/python3.12"),
    ]
    layers = [
        workshop.small(base_entries()),
        workshop.wheel_layer(NEW, SITE, "gzip"),
        workshop.wheel_layer(OLD, VENV, "tar"),
        workshop.small(venv),
        workshop.small(script("/opt/venv/bin/python")),
    ]
    path = workshop.image(layers, "vllm/two:v0.33.0")
    assert read_device_code(opened(path), GB10) == own_code(real_wheel, OLD)
    artifact = opened(path)
    image = observe_image(artifact.contents(), artifact.name)
    assert [(copy.version, copy.judged) for copy in image.vllms] == [
        ("0.19.1", True),
        ("0.33.0", False),
    ]


def test_with_flashinfers_cubins(workshop: Workshop, real_wheel: Wheel) -> None:
    requirement = "flashinfer-cubin==0.6.13"
    layers = [workshop.small(base_entries()), workshop.wheel_layer(requirement, SITE, "tar")]
    artifact = opened(workshop.image(layers, "vllm/cubins:1"))
    assert read_device_code(artifact, GB10) == own_code(real_wheel, requirement)
