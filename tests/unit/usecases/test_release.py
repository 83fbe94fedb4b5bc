"""Releases from version numbers: orders, defaults, differences, argument lists."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from sparkproof.adapters.git import Mention
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_parts import Source
from sparkproof.core.observations.release_surface import Pinned
from sparkproof.core.results.release import BackendRow, Bite, DeviceAnswer, ReleaseResult
from sparkproof.core.verdict import Verdict
from sparkproof.facts.surfaces import load_surface, shipped_surfaces
from sparkproof.render.lines import plain_text
from sparkproof.render.release_diff_text import render_diff
from sparkproof.render.release_text import render_release
from sparkproof.selection import predict
from sparkproof.selection.answers import describe_oracles
from sparkproof.usecases.release import source as release_source
from sparkproof.usecases.release.args import check_arguments
from sparkproof.usecases.release.command import SECTIONS, look_at_release
from sparkproof.usecases.release.diff import compare_releases
from sparkproof.usecases.release.source import look_for_pull_request, plan_build


def looked(version: str, section: str = "") -> ReleaseResult:
    report = look_at_release(version, section=section)
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    return report.result


def row(version: str, oracle: str, case: str, backend: str) -> BackendRow:
    views = looked(version, section="oracles").oracles
    view = next(item for item in views if (item.id, item.case) == (oracle, case))
    return next(item for item in view.rows if item.backend == backend)


@pytest.mark.parametrize(
    ("version", "tokens", "sequences"), [("0.32.0", 8192, 1024), ("0.33.0", 2048, 256)]
)
def test_a_sparks_batch_defaults(version: str, tokens: int, sequences: int) -> None:
    batch = looked(version).batch
    assert batch is not None
    assert (batch.tokens, batch.sequences, batch.known) == (tokens, sequences, True)


@pytest.mark.parametrize(
    ("version", "exists", "flags", "automatic"),
    [
        ("0.22.0", True, (), 0),
        ("0.24.0", True, ("flashinfer_b12x",), 0),
        ("0.27.1", True, ("flashinfer_b12x",), 0),
        ("0.28.0", True, ("flashinfer_b12x",), 3),
        ("0.33.0", True, ("flashinfer_b12x",), 3),
    ],
)
def test_the_four_answers_about_dense_b12x(
    version: str, exists: bool, flags: tuple[str, ...], automatic: int
) -> None:
    found = row(version, "dense/nvfp4", "nvfp4-w4a4", "FlashInferB12xNvFp4LinearKernel")
    assert (found.exists, found.flag_values, found.automatic) == (exists, flags, automatic)
    assert found.device is DeviceAnswer.DEPENDS
    assert "package:flashinfer" in found.gates


def test_experts_b12x_is_never_automatic() -> None:
    for version in ("0.22.0", "0.28.0", "0.33.0"):
        found = row(version, "moe/nvfp4", "nvfp4-w4a4", "FLASHINFER_B12X")
        assert (found.exists, found.automatic) == (True, 0)


@pytest.mark.parametrize("section", [*SECTIONS, "all"])
def test_every_section_is_there_and_can_be_drawn(section: str) -> None:
    result = looked("0.33.0", section=section)
    text = plain_text(render_release(result))
    assert len(text.splitlines()) > 5


def test_what_is_wrong_as_written() -> None:
    with pytest.raises(UsageError, match="no section"):
        look_at_release("0.33.0", section="oracle")
    with pytest.raises(UsageError, match="at once"):
        look_at_release("0.33.0", vllm="0.32.0")
    with pytest.raises(UsageError, match="development version"):
        look_at_release("0.34.0.dev3+g1234")


def test_dense_b12x_enters_the_automatic_choice() -> None:
    report = compare_releases("0.27.1", "0.28.0")
    assert report.result is not None
    order = next(
        item
        for item in report.result.changes
        if item.bite is Bite.ORDER and item.subject == "dense/nvfp4 nvfp4-w4a4"
    )
    assert "FlashInferB12xNvFp4LinearKernel as no. 3" in order.after
    assert "no pick changes" in report.summary
    assert "candidates change" in plain_text(render_diff(report.result))


def test_a_kernel_that_a_loader_names_is_no_new_pick() -> None:
    """Before 0.23.0 the loaders of 4-bit weights alone call Marlin and ask no selection."""
    report = compare_releases("0.22.1", "0.23.0")
    assert report.result is not None
    assert not [item for item in report.result.changes if item.bite is Bite.PICK]


@pytest.mark.parametrize("version", shipped_surfaces())
@pytest.mark.parametrize("method", ["compressed-tensors", "modelopt"])
def test_a_release_says_of_weights_alone_what_a_selection_does(version: str, method: str) -> None:
    layer = LayerFormat(LayerClass.MLP, QuantScheme.NVFP4_W4A16, detail="group 16")
    profile = CheckpointProfile("m", ("LlamaForCausalLM",), "llama", method, (layer,))
    surface = load_surface(version)
    picked = predict(surface, ComputeCapability(12, 1), layer, profile=profile)
    views = describe_oracles(surface, ComputeCapability(12, 1), rows=False)
    said = [v for v in views if v.id == "dense/nvfp4" and v.case == "nvfp4-w4a16"]
    if picked.selected:
        assert [view.forced for view in said] == [picked.selected]
    else:
        assert "no loader names a kernel" in picked.reason


def test_a_walk_that_asks_for_no_scheme_says_nothing_of_it() -> None:
    surface = msgspec.structs.replace(load_surface("0.22.1"), pinned=())
    views = describe_oracles(surface, ComputeCapability(12, 1), rows=False)
    view = next(v for v in views if (v.id, v.case) == ("dense/nvfp4", "nvfp4-w4a16"))
    assert (view.forced, view.order, view.eligible) == ("", (), ())
    assert "no loader names a kernel" in view.untold


def test_loaders_that_differ_are_told_apart() -> None:
    shipped = load_surface("0.33.0")
    odd = Pinned("dense/nvfp4", "nvfp4-w4a16", "modelopt", "Other", shipped.source or Source(""))
    surface = msgspec.structs.replace(shipped, pinned=(odd,))
    views = describe_oracles(surface, ComputeCapability(12, 1), rows=False)
    found = {v.case: v.forced for v in views if v.id == "dense/nvfp4"}
    assert found["nvfp4-w4a16"] == "MarlinNvFp4LinearKernel"
    assert found["nvfp4-w4a16 of modelopt"] == "Other"


def test_a_sparks_new_batch_defaults_are_a_change() -> None:
    report = compare_releases("0.32.0", "0.33.0")
    assert report.result is not None
    batch = next(i for i in report.result.changes if i.subject.startswith("batch of a server"))
    assert batch.bite is Bite.DEFAULT
    assert (batch.before, batch.after) == (
        "8,192 tokens, 1,024 sequences",
        "2,048 tokens, 256 sequences",
    )


def test_changes_come_worst_first_and_yours_first_among_them() -> None:
    report = compare_releases("0.23.0", "0.24.0", arguments=("m", "--quantization", "gguf"))
    assert report.result is not None
    bites = [list(Bite).index(item.bite) for item in report.result.changes]
    assert bites == sorted(bites)
    picks = [item for item in report.result.changes if item.bite is Bite.PICK]
    assert {(item.before, item.after) for item in picks} >= {("TRITON", "DEEPGEMM")}
    gone = [item for item in report.result.changes if item.bite is Bite.GONE]
    assert gone[0].used
    assert gone[0].subject == "--quantization: values"
    assert "yours" in plain_text(render_diff(report.result, verbose=True))


def test_an_argument_list_is_refused_with_its_findings() -> None:
    words = ["m", "--max-num-partial-prefills", "2", "--mamba-cache-mode", "none"]
    report = check_arguments("0.33.0", words)
    assert report.verdict is Verdict.FAIL
    assert [item.rule for item in report.findings] == [
        "release/unknown-option",
        "release/ending-option",
    ]
    assert check_arguments("", ["m", "-tp", "1"], vllm="0.20.0").verdict is Verdict.PASS


def _git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_checkout_with_history(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    for subject in ("First (#7)", "Second (#77)", "Revert of (#7), by hand"):
        _git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject)
        _git(tmp_path, "tag", f"v0.1.{subject.count('e')}")
    report = look_for_pull_request("#7", str(tmp_path))
    assert report.verdict is Verdict.PASS
    assert report.result is not None
    assert (report.result.subject, report.result.first_tag) == ("First (#7)", "v0.1.0")
    assert look_for_pull_request("8", str(tmp_path)).verdict is Verdict.FAIL
    with pytest.raises(UsageError, match="no number"):
        look_for_pull_request("abc", str(tmp_path))
    with pytest.raises(UsageError, match="no git checkout"):
        look_for_pull_request("7", str(tmp_path / "none"))


def test_a_build_that_misses_the_device(tmp_path: Path) -> None:
    (tmp_path / "cmake").mkdir()
    (tmp_path / "cmake" / "utils.cmake").write_text('if("${b}" IN_LIST _TGT_CUDA_ARCHS)\n')
    (tmp_path / "CMakeLists.txt").write_text(
        'set(CUDA_SUPPORTED_ARCHS "9.0;12.0;12.1")\n'
        'cuda_archs_loose_intersection(CUDA_ARCHS "${CUDA_SUPPORTED_ARCHS}" "${CUDA_ARCHS}")\n'
        'cuda_archs_loose_intersection(FP4_ARCHS "12.0a;12.1a" "${CUDA_ARCHS}")\n'
    )
    report = plan_build(f"tree:{tmp_path}", cuda="12.8", arch_list="12.0")
    assert report.verdict is Verdict.FAIL
    assert [item.rule for item in report.findings] == ["release/build-misses-device"]
    report = plan_build(f"tree:{tmp_path}", cuda="12.8", arch_list="12.1")
    assert report.verdict is Verdict.PASS
    with pytest.raises(UsageError, match="no architecture"):
        plan_build(f"tree:{tmp_path}", cuda="12.8", arch_list="sm_120")
    with pytest.raises(UsageError, match="no CUDA version"):
        plan_build(f"tree:{tmp_path}", cuda="13;", arch_list="")


@pytest.mark.parametrize(("tag", "agrees"), [("v0.27.0", True), ("v0.28.0", False), ("", None)])
def test_what_the_book_says_of_a_pull_request_is_held_against_the_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, agrees: bool | None
) -> None:
    mention = Mention("a" * 40, "Fix (#48245)", tag, "b" * 40, shallow=False)
    monkeypatch.setattr(release_source, "find_pull_request", lambda *_: mention)
    found = look_for_pull_request("48245", str(tmp_path)).result
    assert found is not None
    assert [(item.id, item.said, item.agrees) for item in found.claims] == [
        ("history/48245", ">=0.27.0", agrees)
    ]
