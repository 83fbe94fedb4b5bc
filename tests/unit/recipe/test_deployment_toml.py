"""Our own deployment TOML: what it takes, and how it says no."""

from __future__ import annotations

import pytest

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.errors import FormatError
from sparkproof.recipe.deployment_toml import MAX_BYTES, parse_deployment

WHOLE = b"""
schema = 1
name = "qwen"
checkpoint = "checkpoint"
artifact = "vllm==0.33.0"
device = "gb10"
args = ["--kv-cache-dtype", "fp8"]
served_names = ["a"]
server_url = "http://localhost:8000"
control = "base"

[env]
VLLM_LOGGING_LEVEL = "INFO"

[box]
nvcc = true
ninja = false
total_memory_gib = 121.6
co_tenants = { tts = 4.0 }
packages = { "flashinfer-python" = "0.9.0" }
"""


def test_every_field_is_read() -> None:
    deployment = parse_deployment(WHOLE, "d.toml")
    assert deployment == Deployment(
        name="qwen",
        checkpoint="checkpoint",
        artifact="vllm==0.33.0",
        args=("--kv-cache-dtype", "fp8"),
        served_names=("a",),
        server_url="http://localhost:8000",
        control="base",
        env={"VLLM_LOGGING_LEVEL": "INFO"},
        box=Box(
            nvcc=True,
            ninja=False,
            total_memory_gib=121.6,
            co_tenants={"tts": 4.0},
            packages={"flashinfer-python": "0.9.0"},
        ),
    )


def test_what_is_unstated_stays_unstated() -> None:
    box = parse_deployment(b'checkpoint = "x"', "d.toml").box
    assert (box.nvcc, box.ninja, box.total_memory_gib) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "missing required field `checkpoint`"),
        (b'checkpoint = ""', "`checkpoint` is empty"),
        (b'checkpoint = "a\\u0000b"', "`checkpoint` holds a control character"),
        (b"checkpoint = 1", "expected `str`, got `int`"),
        (b'checkpoint = "x"\nargs = "--port 1"', "expected `array`"),
        (b'checkpoint = "x"\nbox.gpu = 1', "unknown field `gpu`"),
        (b'checkpoint = "x"\ntypo = 1', "unknown field `typo`"),
        (b'checkpoint = "x"\nschema = 2', "deployment schema 2 is not known"),
        (b'checkpoint = "x"\nbox.total_memory_gib = nan', "`box.total_memory_gib` is no amount"),
        (b'checkpoint = "x"\nbox.reserve_gib = -1', "`box.reserve_gib` is no amount"),
        (b'checkpoint = "x"\nbox.reserve_gib = 1e308', "`box.reserve_gib` is no amount"),
        (b'checkpoint = "x"\n[box.co_tenants]\ntts = inf', "`box.co_tenants.tts` is no amount"),
        (b"\xff", "can't decode byte"),
        (b"x" * (MAX_BYTES + 1), "larger than"),
        (b"a = " + b"[" * 9000, "recursion|nested"),
        (b"a." * 100_000 + b"a = 1", "dotted key of more than 32 parts"),
        (b'"a".' * 50_000 + b"a = 1", "dotted key of more than 32 parts"),
        (b"[" + b"a . " * 50_000 + b"a]", "dotted key of more than 32 parts"),
    ],
)
def test_a_wrong_one_is_refused_with_its_place(text: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse_deployment(text, "d.toml")
    assert str(caught.value).startswith("d.toml")


def test_the_line_is_told_where_toml_tells_it() -> None:
    with pytest.raises(FormatError) as caught:
        parse_deployment(b'checkpoint = "x"\nargs = [,]\n', "d.toml")
    assert caught.value.line == 2
    assert "explain deployment" in caught.value.hint


@pytest.mark.parametrize("gib", ["1e-300", "0.0", "0", "-1.0", "inf", "1e9"])
def test_a_box_without_memory_is_none(gib: str) -> None:
    text = WHOLE.replace(b"121.6", gib.encode())
    with pytest.raises(FormatError, match=r"`box\.total_memory_gib` is no amount of memory"):
        parse_deployment(text, "d.toml")
