"""What the command line prints of a small image."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.images import CONFIG, SITE, base_entries, metadata, script
from tests.golden.conftest import Cli, Golden

from sparkproof.testing import images
from sparkproof.testing.images import ImageFolder

DATA = Path(__file__).resolve().parents[2] / "data" / "device_code"


def build(folder: Path, version: str, library: str, **config: object) -> Path:
    """An image with a vLLM that has one real library of ours."""
    made = ImageFolder(folder)
    files = {
        "vllm/__init__.py": b"",
        "vllm/_version.py": f"version = '{version}'\ncommit_id = 'gabc'\n".encode(),
        "vllm/_C.abi3.so": (DATA / library).read_bytes(),
        "torch/version.py": b"cuda = '13.0'\n",
        **metadata("vllm", version),
        **metadata("torch", "2.12.0+cu130"),
        **metadata("flashinfer-python", "0.6.13"),
    }
    layers = [
        made.layer(entries, step, compression="tar")  # the same bytes with every zlib
        for entries, step in (
            (base_entries(), "ADD rootfs"),
            (images.files(files, f"{SITE}/"), "RUN pip install vllm"),
            (script(), "COPY vllm /usr/local/bin"),
        )
    ]
    options: dict[str, object] = {**CONFIG, "name": "vllm/vllm-openai:v0.33.0", **config}
    made.image(layers, **options)  # type: ignore[arg-type]
    return folder


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return build(tmp_path / "good", "0.33.0", "mma_120f.so")


@pytest.fixture
def stamped(tmp_path: Path) -> Path:
    return build(tmp_path / "stamped", "0.1.dev1+gabc", "elf_90a.so", Env=["PATH=/bin"])


def stable(text: str) -> str:
    """Without the days since the image was built, which grow."""
    return "\n".join(
        line.split("  ", 3)[0] if " days ago" in line else line for line in text.split("\n")
    )


def test_a_good_image(cli: Cli, golden: Golden, good: Path) -> None:
    run = cli("image", str(good))
    assert run.code == 0
    golden("good.txt", stable(run.out))


def test_a_mis_stamped_one(cli: Cli, golden: Golden, stamped: Path) -> None:
    run = cli("image", "show", str(stamped), "-v")
    assert run.code == 1
    golden("stamped.txt", stable(run.out))


def test_the_difference(cli: Cli, golden: Golden, good: Path, stamped: Path) -> None:
    run = cli("image", "diff", str(good), str(stamped))
    assert run.code == 1
    golden("diff.txt", run.out)


def test_documents(cli: Cli, good: Path) -> None:
    for words, name in ((("image",), "image-show"), (("image", "diff", str(good)), "image-diff")):
        run = cli(*words, str(good), "--json")
        assert f'"sparkproof/{name}/1"' in run.out


@pytest.mark.parametrize(
    ("words", "code"),
    [(("image", "./absent.tar"), 4), (("image", "Not A Name"), 2), (("image", "diff", "x"), 2)],
)
def test_failures(cli: Cli, words: tuple[str, ...], code: int) -> None:
    run = cli(*words, "--json")
    assert run.code == code
    assert '"error"' in run.out
