"""What an image says of itself against what is in it."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from sparkproof.core.condition import Gate, Tri
from sparkproof.core.deployment import Box
from sparkproof.core.observations.image import (
    ImageObservation,
    LayerSeen,
    PackageSeen,
    ReplacedSeen,
    ToolSeen,
    VllmSeen,
)
from sparkproof.core.observations.release_surface import (
    Branch,
    Oracle,
    Pin,
    ReleaseSurface,
    Source,
)
from sparkproof.core.verdict import Verdict, fold
from sparkproof.image.box import box_from_image
from sparkproof.image.judge import find_in_image, judge_image
from sparkproof.image.track import TagTrack, follow_track
from sparkproof.selection.gates import settle_gates

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SITE = "usr/lib/python3/dist-packages"
COPY = VllmSeen(SITE, "0.33.0", "0.33.0", "gabc", judged=True)
TOOLS = (ToolSeen("nvcc", "/usr/bin/nvcc", True), ToolSeen("ninja", "/usr/bin/ninja", True))
GOOD = ImageObservation(
    name="x",
    architecture="arm64",
    os="linux",
    config_digest="sha256:1",
    tags=("vllm/vllm-openai:v0.33.0",),
    python="/usr/bin/python3",
    python_version="3.12",
    python_certain=True,
    vllms=(COPY,),
    tools=TOOLS,
    torch_cuda="13.0",
)
TRACK = TagTrack("v0.33.0-cu130", moving=False, age_days=9)
FLASHINFER = PackageSeen("flashinfer-python", "0.6.13", SITE, 1, judged=True)


def rules(image: ImageObservation, track: TagTrack = TRACK, cuda: str = "13") -> list[str]:
    found = find_in_image(image, "aarch64", cuda, track)
    return [finding.rule.removeprefix("image/") for finding in found]


def changed(**fields: object) -> ImageObservation:
    return msgspec.structs.replace(GOOD, **fields)


def verdict(image: ImageObservation) -> Verdict:
    return fold(item.verdict for item in judge_image(image, "aarch64"))


def test_a_good_image_is_quiet() -> None:
    assert rules(GOOD) == []
    assert verdict(GOOD) is Verdict.PASS


@pytest.mark.parametrize(
    ("image", "rule"),
    [
        (changed(architecture="amd64"), "other-platform"),
        (changed(vllms=()), "no-vllm"),
        (changed(vllms=(msgspec.structs.replace(COPY, version="0.32.0"),)), "two-versions"),
        (
            changed(vllms=(msgspec.structs.replace(COPY, stated=("0.32.0", "0.33.0")),)),
            "two-versions",
        ),
        (changed(vllms=(), installed={"vllm": "0.33.0"}), "vllm-elsewhere"),
        (changed(torch_cuda="12.9"), "cuda-lines-differ"),
        (changed(replaced=(ReplacedSeen("vllm/_C.so", 2, 1, 5, 6),)), "replaced-file"),
        (changed(packages=(FLASHINFER,), tools=TOOLS[:1]), "flashinfer-without-tools"),
        (
            changed(
                packages=(
                    FLASHINFER,
                    PackageSeen("flashinfer-cubin", "0.6.12", SITE, 1, judged=True),
                )
            ),
            "flashinfer-versions",
        ),
        (changed(layers=(LayerSeen("sha256:2", 9, 0, "apt", "told"),)), "layer-told"),
        (changed(labels={"org.opencontainers.image.version": "v0.31.0"}), "version-claim"),
    ],
)
def test_each_rule_fires(image: ImageObservation, rule: str) -> None:
    assert rule in rules(image)


def test_a_replaced_file_of_the_recorded_size_is_no_patch() -> None:
    assert rules(changed(replaced=(ReplacedSeen("vllm/a.py", 2, 1, 6, 6),))) == []


def test_the_trap_of_the_stamp_without_a_tag() -> None:
    copy = VllmSeen(SITE, "0.1.dev1+gabc", "0.1.dev1+gabc", "gabc", judged=True)
    assert rules(changed(vllms=(copy,))) == ["development-build", "version-claim"]


def test_cuda_of_the_tag() -> None:
    image = changed(torch_cuda="12.9")
    assert rules(image, cuda="12") == ["cuda-claim"]
    assert rules(image, TagTrack("v0.33.0-cu129", moving=False, age_days=1), cuda="12") == []


def test_cuda_of_the_environment() -> None:
    image = changed(torch_cuda="12.9", env={"CUDA_VERSION": "13.0.2"})
    track = TagTrack("mine", moving=False, age_days=1)
    assert rules(image, track, cuda="12") == ["cuda-claim"]
    assert rules(changed(env={"CUDA_VERSION": "13.0.2"}), track) == []


def test_two_copies_and_nothing_that_tells() -> None:
    other = VllmSeen("opt/x", "0.32.0", "0.32.0", "", judged=False)
    both = changed(vllms=(COPY, other), python_certain=False)
    assert verdict(both) is Verdict.INCONCLUSIVE
    assert rules(both) == ["several-vllms"]
    assert verdict(changed(vllms=(COPY, other))) is Verdict.PASS


@pytest.mark.parametrize(
    ("tag", "created", "moving", "age"),
    [
        ("v0.33.0", "2026-11-20T00:00:00Z", False, 9),
        ("nightly", "2026-03-01T00:00:00Z", True, 273),
        ("latest", "1970-01-01T00:00:00Z", True, -1),
        ("nightly-abc123", "", True, -1),
        ("cu130-nightly", "2026-11-28T23:00:00+02:00", True, 0),
        ("25.10-py3", "2026-11-20T00:00:00", False, 9),
        ("mine", "2027-11-20T00:00:00Z", True, -1),
        ("", "", False, -1),
    ],
)
def test_age_and_whether_a_tag_moves(tag: str, created: str, moving: bool, age: int) -> None:
    track = follow_track(tag, created, NOW, ())
    assert (track.moving, track.age_days) == (moving, age)


def test_newer_tags_have_the_same_form() -> None:
    tags = ("v0.33.0-cu130", "v0.34.0-cu130", "v0.35.0", "v0.34.1rc1-cu130", "v0.9.0-cu130", "x")
    assert follow_track("v0.33.0-cu130", "", NOW, tags).newer == ("v0.34.0-cu130",)
    assert follow_track("v0.33.0", "", NOW, tags).newer == ("v0.35.0",)
    assert follow_track("latest", "", NOW, tags).newer == ()


def test_a_dormant_track() -> None:
    track = TagTrack("nightly", moving=True, age_days=120, newer=("x",))
    assert rules(GOOD, track) == ["dormant-tag", "newer-tag", "moving-tag"]


def test_box_keeps_what_was_stated() -> None:
    image = changed(installed={"vllm": "0.33.0", "flashinfer-python": "0.6.13"}, tools=())
    assert box_from_image(image).nvcc is False
    stated = Box(nvcc=True, packages={"b12x": "1"}, reserve_gib=9.0)
    box = box_from_image(image, stated)
    assert (box.nvcc, box.ninja, box.reserve_gib) == (True, False, 9.0)
    assert box.packages_complete
    assert box.packages == {"flashinfer-python": "0.6.13", "b12x": "1"}


def test_what_an_image_does_not_hold_is_absent_whatever_the_pins_say() -> None:
    source = Source("METADATA", 1)
    gate = Branch(Gate("package:flashinfer"), (), "X", "", "", source)
    surface = ReleaseSurface(
        "0.33.0",
        source,
        oracles=(Oracle("moe/nvfp4", source, branches=(gate,)),),
        pins=(Pin("flashinfer-python", "==0.6.13", True, source),),
    )
    without = box_from_image(changed(installed={"vllm": "0.33.0", "torch": "2.12.0"}))
    with_it = box_from_image(changed(installed={"flashinfer-python": "0.6.13"}))
    said = [settle_gates(surface, box)["package:flashinfer"].answer for box in (without, with_it)]
    assert said == [Tri.NO, Tri.YES]
    unread = LayerSeen("sha256:2", 9, 0, "apt", "told")
    assert not box_from_image(changed(installed={"a": "1"}, layers=(unread,))).packages_complete


def test_what_can_t_be_told_of_vllm_is_inconclusive() -> None:
    """Installed from somewhere else; of no version; of two, with no stamp to choose by."""
    assert verdict(changed(vllms=(), installed={"vllm": "0.33.0"})) is Verdict.INCONCLUSIVE
    assert verdict(changed(vllms=())) is Verdict.FAIL
    bare = msgspec.structs.replace(COPY, stamped="")
    assert verdict(changed(vllms=(bare,))) is Verdict.PASS
    nameless = msgspec.structs.replace(bare, version="")
    several = msgspec.structs.replace(bare, stated=("0.32.0", "0.33.0"))
    for copy in (nameless, several):
        assert verdict(changed(vllms=(copy,))) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("version", "stamped", "number"),
    [
        ("0.33.0", "0.33.0", "0.33.0"),
        ("0.33.0+cu130", "0.33.0", "0.33.0+cu130"),
        ("0.32.0", "0.33.0", "0.33.0"),
        ("0.33.0", "", "0.33.0"),
        ("", "0.33.0", "0.33.0"),
    ],
)
def test_the_number_is_what_the_package_reports(version: str, stamped: str, number: str) -> None:
    assert VllmSeen(SITE, version, stamped, "", judged=True).number == number
