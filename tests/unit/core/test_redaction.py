"""Secrets and homes; every token here is made up."""

from __future__ import annotations

import time

import msgspec
import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.core.redaction import (
    mask_named,
    redact,
    redact_addresses,
    redact_arguments,
    redact_environment,
    redact_text,
)
from sparkproof.core.refs import redact_url

_LONG = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3h"
SECRETS = (
    f"hf_{_LONG}",
    f"ghp_{_LONG}",
    f"github_pat_{_LONG}_{_LONG}",
    f"sk-proj-{_LONG}",
    f"sk-ant-api03-{_LONG}",
    f"sk_live_{_LONG}",
    f"glpat-{_LONG[:20]}",
    f"xoxb-123456789012-{_LONG}",
    f"nvapi-{_LONG}",
    f"npm_{_LONG}",
    f"pypi-{_LONG}",
    f"dckr_pat_{_LONG[:27]}",
    f"AIza{_LONG}x",
    "AKIA" + "ABCDEFGH12345678",
    "ASIA" + "ABCDEFGH12345678",
    f"eyJhbGciOiJI.{_LONG}.{_LONG}",
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "--hf-token={}", "x={},", '{{"t": "{}"}}', "a {} b"])
def test_a_token_is_known_by_its_shape(secret: str, frame: str) -> None:
    redacted = redact_text(frame.format(secret))
    assert secret not in redacted
    assert "[redacted]" in redacted


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://user:pass-word@host.example/simple/", "pass-word"),
        ("fetch https://tok3n@host.example/x.whl failed", "tok3n"),
        ("Authorization: Bearer abc.def-123456", "abc.def"),
        ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("--api-key hunter2", "hunter2"),
        ("--api_key=hunter2", "hunter2"),
        ("API_KEY: hunter22", "hunter22"),
        ('"password": "hunter22"', "hunter22"),
        ("https://host.example/f?token=abcd1234&x=1", "abcd1234"),
        ("https://host.example/f?X-Amz-Signature=abcd&x=1", "abcd"),
        ("api_key=12345678901", "12345678901"),
        ("token=12345678901", "12345678901"),
        ('"password": 12345678901', "12345678901"),
        ("password='two words-9, three'", "three"),
        ('api_key="a\\"b-9"', "b-9"),
        ('{"api_key": "hunter22"}', "hunter22"),
        ("api_key=b'hunter'", "hunter"),
        ('api_key=("hunter",)', "hunter"),
        ("api_key=['hun)ter', 'hun]zap']", "zap"),
        ("--api-key  hunter2", "hunter2"),
        ("--api-key\thunter2", "hunter2"),
        ("--api-key \\\n  hunter2", "hunter2"),
        ('--api-key "quoted secret words" --port 1', "words"),
        ("['--api-key', 'hunter2', '--port']", "hunter2"),
        ("Authorization: Token hunter2", "hunter2"),
        ("{'authorization': 'ApiKey hunter2'}", "hunter2"),
        ("https://user:pa/ss@host.example/x", "pa/ss"),
        ("http://me:pr@ss9@proxy:1", "ss9"),
        ("-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----", "MIIabc"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text: str, secret: str) -> None:
    assert secret not in redact_text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/alice/models/x", "~/models/x"),
        ("/Users/alice", "~"),
        ("file:///home/alice/x.whl", "file://~/x.whl"),
        ("/home/alice, /home/bob: gone", "~, ~: gone"),
        ("/root/.cache", "~/.cache"),
        ("/root", "~"),
        ("C:\\Users\\alice\\x", "~\\x"),
        ("/mnt/home/alice/x", "/mnt/home/[redacted]/x"),
    ],
)
def test_homes_are_written_as_a_tilde(text: str, expected: str) -> None:
    assert redact_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "vllm/model_executor/layers/quantization/hf_quant_config.py",
        "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862",
        "GPU KV cache size: 617,494 tokens",
        "max_tokens: 4096, token: 12",
        "eos_token: <|im_end|>",
        "failure signature: kv-cache-too-small",
        "/rooted/x and a/root.py",
        "--tokenizer=mistral --served-model-name sk",
        "https://host.example/simple/vllm/",
        "max_tokens=4096 n_token: 123456789",
        "api_key='' and more",
        "docker://host.example:5000/img@sha256:0a",
        '"api_key": "<your key>"',
        "--api-key --port 8000",
        "authorization: required",
        "_ZN4vllm13sk_gemm_kernel_with_a_long_nameE",
    ],
)
def test_what_only_resembles_a_secret_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "a-",
        "a.b+",
        "eyJaaaaaaaa-",
        "token ",
        "token=a ",
        "Bearer ",
        "/home/",
        "sk-",
        "https://a",
        "api_key=['",
        "api_key=('a',",
        "api_key='a\\",
        'password="',
        "--api-key ",
        "--api-key '",
        "https://a:b",
        "http://a:b/",
        "Authorization: Token ",
        "1:",
        "::",
    ],
)
def test_long_text_takes_time_in_proportion(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    started = time.process_time()
    redact_text(text)
    redact_url(text)
    redact_addresses(text)
    assert time.process_time() - started < 5


def test_environments_are_judged_by_the_name_too() -> None:
    env = {"HF_TOKEN": "x", "WANDB_API_KEY": "0" * 40, "VLLM_USE_V1": "1", "MAX_TOKENS": "9"}
    assert redact_environment(env) == {
        "HF_TOKEN": "[redacted]",
        "WANDB_API_KEY": "[redacted]",
        "VLLM_USE_V1": "1",
        "MAX_TOKENS": "9",
    }


def test_every_value_of_a_secret_flag_is_masked() -> None:
    arguments = ("--port", "8000", "--api-key", "one", "two", "--max-model-len", "4096")
    assert redact_arguments(arguments) == (
        "--port",
        "8000",
        "--api-key",
        "[redacted]",
        "[redacted]",
        "--max-model-len",
        "4096",
    )


def test_a_struct_is_redacted_through_and_through() -> None:
    deployment = Deployment(
        checkpoint="/home/alice/ckpt",
        args=("--api_key", "hunter2"),
        env={"HF_TOKEN": "short", "PATH": "/home/alice/bin"},
    )
    redacted = redact(deployment)
    assert type(redacted) is Deployment
    text = msgspec.json.encode(redacted).decode()
    assert not [word for word in ("alice", "hunter2", "short") if word in text]
    assert redacted.env["PATH"] == "~/bin"


def test_text_that_is_no_utf8_becomes_encodable() -> None:
    assert redact_text("a\udcffb") == "a\\udcffb"


class _Named(msgspec.Struct, frozen=True):
    name: str
    value: str = ""
    predicted: str = ""
    observed: str = ""


class _Log(msgspec.Struct, frozen=True):
    rows: tuple[_Named, ...]
    command: str = ""
    said: str = ""


@pytest.mark.parametrize("value", ["mykey-0123456789abcdef", "['mykey-0123456789abcdef', 'two']"])
def test_a_value_beside_a_secrets_name_is_masked_wherever_it_stands(value: str) -> None:
    log = _Log(
        rows=(
            _Named("api_key", value=value),
            _Named("--api-key", predicted="hunter2", observed=value),
            _Named("max_model_len", value="8192"),
        ),
        said="refused mykey-0123456789abcdef for 8192 tokens",
    )
    text = msgspec.json.encode(redact(log)).decode()
    assert not [word for word in ("mykey", "hunter2") if word in text]
    assert "for 8192 tokens" in text
    assert redact(log).rows[2] == log.rows[2]


def test_every_key_of_a_command_is_masked_wherever_it_stands() -> None:
    log = _Log(
        rows=(),
        command="vllm serve m --api-key first-key-1 second-key-2 --port 8000",
        said="--api_key=third-key-3: second-key-2 on port 8000",
    )
    masked = redact(log)
    assert masked.command == "vllm serve m --api-key [redacted] [redacted] --port 8000"
    assert masked.said == "--api_key=[redacted] [redacted] on port 8000"


def test_what_is_no_secret_under_a_secrets_name_stays() -> None:
    log = _Log(rows=(_Named("hf_token", value="True"), _Named("api_key", value="None")))
    assert redact(log) == log
    assert mask_named("--max-model-len", "8192") == "8192"
    assert mask_named("--api-key", "hunter2") == "[redacted]"


@pytest.mark.parametrize(
    "text",
    [
        "non-default args: {'api_key': ['mykey-01', 'mykey-02'], 'port': 8105}",
        "api_key=['mykey-01']",
        "{'hf_token': ['mykey-01', 'mykey",
    ],
)
def test_a_list_of_secrets_is_masked_whole(text: str) -> None:
    masked = redact_text(text)
    assert "mykey" not in masked
    assert ("8105" in text) == ("8105" in masked)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://192.168.1.7:8000", "http://[address]:8000"),
        ("to fe80::1ff:fe23:4567:890a%eth0 at", "to [address] at"),
        ("[2001:db8::8a2e:370:7334]:8000", "[[address]]:8000"),
        ("2001:0db8:85a3:0000:0000:8a2e:0370:7334", "[address]"),
        ("[::1]:8000 and :: and 127.0.0.1", "[::1]:8000 and :: and 127.0.0.1"),
        ("11-29 21:10:06 [core.py:564]", "11-29 21:10:06 [core.py:564]"),
        ("c10::Error at::native 0:1:2", "c10::Error at::native 0:1:2"),
    ],
)
def test_addresses_of_both_kinds_are_masked(text: str, expected: str) -> None:
    assert redact_addresses(text) == expected
