"""`upgrade` and `suggest` on shipped surfaces: what an operator reads, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkproof.recipe.deployment_toml import parse_deployment

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "upgrade"
Cli = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]

UPGRADES = [
    ("touched", 0, ("q36-tuner", "js-q38"), "0.33.0", ()),
    ("gone", 1, ("q3-medusa",), "0.33.0", ("--since",)),
    ("variables", 1, ("seed-marlin",), "0.24.0", ()),
    ("another-kernel", 3, ("q35-fp8",), "0.24.0", ()),
    ("untouched", 0, ("gemma26",), "0.23.0", ()),
]


@pytest.fixture(autouse=True)
def _in_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA)


@pytest.mark.parametrize(("name", "code", "deployments", "to", "more"), UPGRADES)
def test_upgrade(
    cli: Cli,
    golden: Golden,
    name: str,
    code: int,
    deployments: tuple[str, ...],
    to: str,
    more: tuple[str, ...],
) -> None:
    words = [f"{item}.toml" for item in deployments]
    ended, out, err = cli("upgrade", *words, "--to", to, *more)
    golden(f"{name}.txt", out + err)
    assert ended == code


def test_upgrade_as_a_document(cli: Cli, golden: Golden) -> None:
    code, out, _ = cli("upgrade", "seed-q36.toml", "--to", "0.33.0", "--json")
    assert code == 0
    assert json.loads(out)["schema"] == "sparkproof/upgrade/1"
    golden("seed-q36.json", out)


def test_a_container_whose_checkpoint_is_elsewhere(
    cli: Cli, golden: Golden, tmp_path: Path
) -> None:
    command = ["vllm", "serve", "/models/q36", "--mamba-cache-mode", "all", "--api-key", "s3cr3t"]
    config = {"Image": "vllm/vllm-openai:v0.26.0", "Cmd": command, "Env": ["VLLM_USE_FBGEMM=1"]}
    saved = tmp_path / "inspect.json"
    saved.write_text(json.dumps([{"Name": "/agent", "Config": config, "State": {}}]))
    more = ("--from", "0.26.0", "--to", "0.33.0")
    code, out, err = cli("upgrade", str(saved), *more, "--checkpoint", "checkpoints/q36-nvfp4.json")
    assert code == 1
    golden("container.txt", out + err)
    assert "s3cr3t" not in out + err
    code, out, _ = cli("upgrade", str(saved), *more, "--offline")
    assert code == 1
    assert "neither kernels nor sizes" in out


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("suggest-agent", 3, ("--for", "agent", "--weights-gib", "22")),
        ("suggest-extraction", 3, ("--for", "extraction")),
    ],
)
def test_suggest(cli: Cli, golden: Golden, name: str, code: int, words: tuple[str, ...]) -> None:
    checkpoint = "checkpoints/q36-nvfp4.json"
    ended, out, err = cli(
        "suggest", checkpoint, "--artifact", "0.33.0", "--nvcc", "--ninja", *words
    )
    golden(f"{name}.txt", out + err)
    assert ended == code


def test_a_suggestion_is_saved_once_and_proves_as_it_stands(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "new" / "agent.toml"
    asked = ("suggest", "checkpoints/q36-nvfp4.json", "--artifact", "0.33.0", "-o", str(place))
    code, _, err = cli(*asked, "--nvcc", "--ninja", "--package", "flashinfer-cubin=0.6.15")
    assert (code, err) == (3, f"saved as {place}\n")
    saved = parse_deployment(place.read_bytes(), "agent.toml")
    assert saved.box.packages == {"flashinfer-cubin": "0.6.15"}
    place.write_text("mine")
    code, out, err = cli(*asked)
    assert (code, out) == (2, "")
    assert "--force" in err
    assert place.read_text() == "mine"
    assert cli(*asked, "--force")[0] == 3
    assert parse_deployment(place.read_bytes(), "agent.toml").args == saved.args


@pytest.mark.parametrize("pair", ["flashinfer-cubin", "=1", "a=", "a b=1"])
def test_a_package_without_a_version_is_refused(cli: Cli, pair: str) -> None:
    line = ("select", "checkpoints/q36-nvfp4.json", "--vllm", "0.33.0", "--package", pair)
    code, out, err = cli(*line)
    assert (code, out) == (2, "")
    assert "NAME=VERSION" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("upgrade", "seed-q36.toml"), "--to"),
        (("upgrade", "absent.toml", "--to", "0.33.0"), "absent.toml"),
        (("suggest", "absent", "--artifact", "0.33.0"), "absent"),
        (("suggest", "checkpoints/q36-fp8.json", "--artifact", "0.33.0", "--for", "art"), "art"),
    ],
)
def test_bad_input_is_one_line_and_a_hint(cli: Cli, words: tuple[str, ...], told: str) -> None:
    code, out, err = cli(*words)
    assert code in (2, 4)
    assert out == ""
    assert told in err
