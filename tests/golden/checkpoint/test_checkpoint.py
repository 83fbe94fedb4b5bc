"""What ``checkpoint`` prints: described builds, and models that real tools wrote."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import msgspec
import pytest
from tests.golden.conftest import Cli, Golden

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "checkpoints" / "quantized"
SIZES = {
    row["file"].split("/")[0]: row["whole_bytes"]
    for row in tomllib.loads((DATA / "MANIFEST.toml").read_text())["fixtures"]
    if "whole_bytes" in row
}


def place(name: str, folder: Path) -> Path:
    """A model of the fixtures as it lies on a disk, its tensors holes."""
    target = folder / name
    shutil.copytree(DATA / name, target)
    head = target / "model.safetensors.head"
    with head.open("r+b") as file:
        file.truncate(SIZES[name])
    head.rename(target / "model.safetensors")
    return target


def check(cli: Cli, golden: Golden, name: str, code: int, *arguments: str) -> None:
    run = cli("checkpoint", *arguments)
    assert (run[0], run[2]) == (code, "")
    golden(f"{name}.txt", run[1])
    run = cli("checkpoint", *arguments, "--json")
    assert (run[0], run[2]) == (code, "")
    document = msgspec.json.decode(run[1])
    assert document["schema"] == "sparkproof/checkpoint/1"


@pytest.mark.parametrize("name", ["w4a4", "w4a16", "mixed"])
def test_an_example(
    cli: Cli, golden: Golden, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    example = f"examples/qwen3.6-35b-a3b-{name}/checkpoint"
    check(cli, golden, f"example-{name}", 0, example, "--vllm", "0.33.0", "--kv-cache-dtype", "fp8")


@pytest.mark.parametrize(
    ("name", "code"), [("mo-moe-mixed", 0), ("ct-dense-lmhead", 1), ("mo-dense-int4-awq", 1)]
)
def test_a_model_with_tensors(
    cli: Cli, golden: Golden, name: str, code: int, tmp_path: Path
) -> None:
    check(cli, golden, name, code, str(place(name, tmp_path)), "--vllm", "0.33.0")


def test_all_of_the_detail_and_the_whole_document(cli: Cli, golden: Golden, tmp_path: Path) -> None:
    folder = str(place("ct-moe-nvfp4a16", tmp_path))
    golden("verbose.txt", cli("checkpoint", folder, "-v").out)
    golden("document.json", cli("checkpoint", folder, "--json").out)


def test_a_build_that_is_not_what_it_says(cli: Cli, golden: Golden, tmp_path: Path) -> None:
    folder = place("mo-moe-nvfp4", tmp_path)
    shutil.copy(DATA / "mo-dense-fp8" / "config.json", folder / "config.json")
    (folder / "hf_quant_config.json").unlink()
    check(cli, golden, "not-what-it-says", 1, str(folder))


def test_a_shard_that_is_cut_short(cli: Cli, golden: Golden, tmp_path: Path) -> None:
    folder = place("ct-dense-nvfp4", tmp_path)
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(SIZES["ct-dense-nvfp4"] - 1000)
    check(cli, golden, "cut-short", 1, str(folder))


@pytest.mark.parametrize("reference", ["./no-such-folder", "no/such/name/at-all", "a b"])
def test_nothing_there(cli: Cli, golden: Golden, reference: str) -> None:
    run = cli("checkpoint", reference, "--offline")
    assert run.code in (2, 4)
    assert run.out == ""
    assert len(run.err.splitlines()) == 2
