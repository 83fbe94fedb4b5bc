"""Artifacts that hold nothing to judge, or lie about it: none of them passes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.contract.images import OFFLINE, base_entries, script

from sparkproof.core.capability import Arch
from sparkproof.core.errors import FormatError
from sparkproof.core.verdict import Verdict
from sparkproof.testing.artifacts import sdist_bytes, wheel_filename, wheel_files, zip_bytes
from sparkproof.testing.device_code import container, cubin, library
from sparkproof.testing.images import ImageFolder
from sparkproof.usecases.checkpoint_reading import read_from
from sparkproof.usecases.wheel import look_at_wheel

LIBRARY = library([container(["_Z3foov"], ["sm_90", "compute_80"])])
FILES = wheel_files("vllm", "0.33.0", {"vllm/_C.so": LIBRARY, "vllm/a.py": b"a = 1\n"})


def written(folder: Path, files: Mapping[str, bytes]) -> Path:
    path = folder / wheel_filename("vllm", "0.33.0")
    path.write_bytes(zip_bytes(files))
    return path


def understate(path: Path, member: str, size_bytes: int) -> None:
    """Both headers of a member say another size."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    while data[at + 46 : at + 46 + len(member)] != member.encode():
        at = data.index(b"PK\x01\x02", at + 4)
    struct.pack_into("<I", data, at + 24, size_bytes)
    (start,) = struct.unpack_from("<I", data, at + 42)
    struct.pack_into("<I", data, start + 22, size_bytes)
    path.write_bytes(data)


def test_the_wheel_itself_passes(tmp_path: Path) -> None:
    assert look_at_wheel(str(written(tmp_path, FILES))).verdict is Verdict.PASS


@pytest.mark.parametrize("missing", ["METADATA", "RECORD", ""])
def test_a_zip_that_is_no_wheel(tmp_path: Path, missing: str) -> None:
    files = {name: data for name, data in FILES.items() if missing and missing not in name}
    with pytest.raises(FormatError, match=r"whl: has no (METADATA|RECORD), so it is no wheel"):
        look_at_wheel(str(written(tmp_path, files)))


@pytest.mark.parametrize("size", [0, 3, 63, 64, 500])
def test_a_size_that_lies_small(tmp_path: Path, size: int) -> None:
    path = written(tmp_path, FILES)
    understate(path, "vllm/_C.so", size)
    report = look_at_wheel(str(path))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "declares" in report.unknowns[0].why


def test_a_vllm_without_kernels(tmp_path: Path) -> None:
    files = wheel_files("vllm", "0.33.0", {"vllm/a.py": b"a = 1\n"})
    report = look_at_wheel(str(written(tmp_path, files)))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.criteria[1].reason == "holds no kernels, where vLLM has some"


@pytest.mark.parametrize("archs_only", [False, True])
def test_a_folder_without_anything(tmp_path: Path, archs_only: bool) -> None:
    report = look_at_wheel(f"tree:{tmp_path}", archs_only=archs_only)
    assert report.verdict is Verdict.INCONCLUSIVE


def test_a_folder_of_wheels_names_them(tmp_path: Path) -> None:
    path = written(tmp_path, FILES)
    report = look_at_wheel(str(tmp_path))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "holds 1 wheel" in report.summary
    assert report.next_steps == (f"sparkproof wheel {path}",)


def test_a_built_package_without_kernels(tmp_path: Path) -> None:
    path = tmp_path / wheel_filename("plain", "1.0")
    path.write_bytes(zip_bytes(wheel_files("plain", "1.0", {"plain/a.py": b"a = 1\n"})))
    assert look_at_wheel(str(path)).verdict is Verdict.INCONCLUSIVE


def test_loose_code_for_other_devices_alone(tmp_path: Path) -> None:
    code = cubin(Arch.parse("sm_100a"), ["_Z3foov"])
    files = {"flashinfer_cubin/cubins/a.cubin": code}
    path = tmp_path / wheel_filename("flashinfer-cubin", "1.0", tag="py3-none-any")
    path.write_bytes(zip_bytes(wheel_files("flashinfer-cubin", "1.0", files)))
    report = look_at_wheel(str(path))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert [item.rule for item in report.findings] == ["deliver/nothing-prebuilt"]


@pytest.mark.parametrize(
    ("device", "platform", "verdict"),
    [
        ("gb10", "", Verdict.PASS),
        ("gb10", "x86_64", Verdict.FAIL),
        ("h200", "", Verdict.PASS),
        ("h200", "riscv64", Verdict.FAIL),
    ],
)
def test_a_wheel_for_another_cpu(
    tmp_path: Path, device: str, platform: str, verdict: Verdict
) -> None:
    path = written(tmp_path, FILES)
    report = look_at_wheel(str(path), device=device, platform=platform)
    assert report.verdict is verdict
    assert ("the box is" in report.summary) is (verdict is Verdict.FAIL)


def test_a_package_that_needs_none(tmp_path: Path) -> None:
    path = tmp_path / wheel_filename("plain", "1.0", tag="py3-none-any")
    path.write_bytes(zip_bytes(wheel_files("plain", "1.0", {"plain/a.py": b"a = 1\n"})))
    assert look_at_wheel(str(path)).verdict is Verdict.PASS


def test_source_that_is_yet_to_be_built(tmp_path: Path) -> None:
    path = tmp_path / "vllm-0.33.0.tar.gz"
    info = b"Name: vllm\nVersion: 0.33.0\n"
    path.write_bytes(sdist_bytes({"PKG-INFO": info, "setup.py": b"", "vllm/a.py": b"a = 1\n"}))
    report = look_at_wheel(str(path))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.summary.endswith("holds no machine code: it is built on install")


def test_a_folder_with_another_file_alone_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "deployment.toml").write_bytes(b"device = 'gb10'\n")
    with pytest.raises(FormatError, match=r"no config\.json"):
        read_from(str(tmp_path))


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("form", ["layout", "oci archive"])
def test_a_layer_that_is_not_what_the_config_names(
    tmp_path: Path, form: str, compression: str
) -> None:
    folder = ImageFolder(tmp_path / "image")
    true = folder.layer(base_entries(), "ADD rootfs", compression=compression)
    lying = true._replace(diff_id="sha256:" + "7" * 64)
    image = folder.image([lying, folder.layer(script(), "COPY vllm")])
    artifact = OFFLINE[form](folder, image, tmp_path)
    with pytest.raises(FormatError, match="where its config names sha256:777777777777"):
        artifact.members()
    artifact.close()
