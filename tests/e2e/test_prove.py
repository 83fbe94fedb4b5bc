"""The installed `prove` on a small vLLM: verdicts, receipts, and every kind of bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from sparkproof.testing.artifacts import write_wheel
from sparkproof.testing.small_vllm import CUDA_12, CUDA_13, write_small_wheel

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
W4A4 = ROOT / "examples" / "qwen3.6-35b-a3b-w4a4" / "checkpoint"
TOOLS = ("--nvcc", "--ninja")
Run = Callable[..., "CompletedProcess[bytes]"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    found = {}
    without_quantize = {k: v for k, v in CUDA_13.items() if k != "nvfp4-quantize"}
    for name, code in (("13", CUDA_13), ("12", CUDA_12), ("less", without_quantize)):
        (folder / name).mkdir()
        found[name] = write_small_wheel(folder / name, code)
    found["other"] = write_wheel(folder, "other", "1.0", tag="py3-none-any")
    found["cut"] = folder / "cut.whl"
    found["cut"].write_bytes(found["13"].read_bytes()[:-500])
    found["damaged"] = folder / "vllm-0.33.0-cp38-abi3-manylinux_2_28_aarch64.whl"
    found["damaged"].write_bytes(_with_damaged_library(found["13"]))
    found["noise"] = folder / "noise.whl"
    found["noise"].write_bytes(b"no zip" * 100)
    return found


def _with_damaged_library(wheel: Path) -> bytes:
    """A checksum that is wrong: the last bytes of the library's data are flipped."""
    data = bytearray(wheel.read_bytes())
    at = data.find(b"vllm/_C.abi3.so")
    data[at + 400] ^= 0xFF
    return bytes(data)


def document(done: CompletedProcess[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_passes_and_leaves_a_receipt_that_verifies(run: Run, wheels: dict[str, Path]) -> None:
    done = run("prove", str(W4A4), "--artifact", str(wheels["13"]), *TOOLS, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    answer = document(done)
    assert answer["verdict"] == "pass"
    assert answer["receipt"]
    assert [s["kind"] for s in answer["subjects"]] == ["wheel", "checkpoint"]
    shown = run("receipt", "show", "1", "--json")
    assert answer["receipt"] in shown.stdout.decode()
    assert str(Path.home()) not in shown.stdout.decode()
    assert run("receipt", "verify").returncode == 0
    again = run("prove", str(W4A4), "--artifact", str(wheels["13"]), *TOOLS, "--json")
    assert document(again)["receipt"] != answer["receipt"]
    assert run("receipt", "verify").returncode == 0


@pytest.mark.parametrize(
    ("wheel", "options", "code", "told"),
    [
        (
            "13",
            ("--no-nvcc", "--no-ninja"),
            0,
            "vLLM CUTLASS NVFP4 (dense) and vLLM CUTLASS NVFP4 experts, native FP4",
        ),
        ("13", (), 0, "without nvcc and ninja: "),
        ("12", TOOLS, 1, "quantizing activations to FP4: nothing in the artifact loads"),
        ("less", TOOLS, 1, "quantizing activations to FP4: no nvfp4-quantize kernels"),
        ("13", (*TOOLS, "--", "--moe-backend", "warp"), 1, "invalid choice: 'warp'"),
        ("13", (*TOOLS, "--", "--kv-cache-dtype", "int9"), 1, "invalid choice: 'int9'"),
        ("13", (*TOOLS, "--", "--quantization", "fp8"), 3, "`--quantization fp8` is not followed"),
        ("damaged", TOOLS, 3, "not everything could be read"),
    ],
)
def test_verdicts(
    run: Run, wheels: dict[str, Path], wheel: str, options: tuple[str, ...], code: int, told: str
) -> None:
    line = ("prove", str(W4A4), "--artifact", str(wheels[wheel]), "--no-receipt")
    done = run(*line, *options)
    assert (done.returncode, done.stderr) == (code, b"")
    assert any(told in text for text in done.stdout.decode().splitlines()[:2])


def test_a_store_that_can_not_be_written_costs_no_answer(
    run: Run, wheels: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = tmp_path / "file" / "receipts"
    line = ("prove", str(W4A4), "--artifact", str(wheels["13"]), *TOOLS, "--store", str(store))
    answer = document(run(*line, "--json"))
    assert answer["verdict"] == "pass"
    assert answer["receipt"] == ""
    (finding,) = [f for f in answer["findings"] if f["rule"] == "receipt/not-written"]
    assert finding["remedy"]


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text('{"a": ')
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.toml").write_text('checkpoint = "x\n')
    (tmp_path / "odd.toml").write_text('checkpoint = "x"\nnvcc = true\n')
    (tmp_path / "no-artifact.toml").write_text(f'checkpoint = "{W4A4}"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("checkpoint", "options", "code", "told"),
    [
        ("W4A4", ("--artifact", "{cut}"), 4, "cut off"),
        ("W4A4", ("--artifact", "{noise}"), 4, "no zip archive"),
        ("W4A4", ("--artifact", "{other}"), 4, "holds no `vllm` package"),
        ("W4A4", ("--artifact", "nowhere.whl"), 2, "`nowhere.whl` is no file here"),
        ("W4A4", ("--artifact", "vllm==0.21.0", "--offline"), 4, "vllm==0.21.0"),
        ("W4A4", ("--artifact", "{13}", "--device", "gb11"), 2, "unknown device `gb11`"),
        ("W4A4", ("--artifact", "{13}", "--env", "NAME"), 2, "`NAME` is no NAME=VALUE"),
        ("W4A4", ("--artifact", "{13}", "--", "--moe-backend"), 2, "`--moe-backend` needs a"),
        ("W4A4", ("--artifact", "{13}", "--", "--kernel-config", "{"), 2, "no JSON"),
        ("W4A4", (), 2, "names no artifact"),
        ("nowhere", ("--artifact", "{13}"), 4, "no checkpoint at `nowhere`"),
        ("empty", ("--artifact", "{13}"), 4, "empty: no config.json"),
        ("broken", ("--artifact", "{13}"), 4, "config.json"),
        ("broken.toml", ("--artifact", "{13}"), 4, "broken.toml:1"),
        ("odd.toml", ("--artifact", "{13}"), 4, "nvcc"),
        ("nowhere.toml", ("--artifact", "{13}"), 4, "nowhere.toml can't be read"),
        ("no-artifact.toml", (), 2, "names no artifact"),
    ],
)
def test_bad_input_is_one_line_a_way_out_and_a_document(
    run: Run,
    wheels: dict[str, Path],
    inputs: Path,
    checkpoint: str,
    options: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    named = {f"{{{name}}}": str(path) for name, path in wheels.items()}
    line = [named.get(word, word) for word in options]
    reference = str(W4A4) if checkpoint == "W4A4" else checkpoint
    done = run("prove", reference, "--json", *line, cwd=inputs)
    assert done.returncode == code
    error, hint = done.stderr.decode().splitlines()
    assert error.startswith("error: ")
    assert told in error
    assert hint.startswith("hint: ")
    answer = document(done)
    assert (answer["verdict"], answer["command"]) == ("error", "prove")
    assert answer["error"]["message"] in error


def test_an_index_that_is_down(run: Run) -> None:
    env = {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
    }
    done = run("prove", str(W4A4), "--artifact", "vllm==0.21.0", env=env)
    assert (done.returncode, done.stdout) == (4, b"")
    error, hint = done.stderr.decode().splitlines()
    assert "127.0.0.1:9" in error
    assert "--offline" in hint
