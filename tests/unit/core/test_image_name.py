from __future__ import annotations

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.core.image_name import ImageName, parse_image_name
from sparkproof.core.refs import RefForm, RefKind, parse_ref

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vllm/vllm-openai:v0.33.0", ImageName("docker.io", "vllm/vllm-openai", "v0.33.0")),
        ("ubuntu", ImageName("docker.io", "library/ubuntu", "latest")),
        ("ubuntu:24.04", ImageName("docker.io", "library/ubuntu", "24.04")),
        ("nvcr.io/nvidia/vllm:26.10-py3", ImageName("nvcr.io", "nvidia/vllm", "26.10-py3")),
        (
            "localhost:5000/a/b@" + DIGEST,
            ImageName("localhost:5000", "a/b", "", DIGEST, plain=True),
        ),
        ("127.0.0.1:5000/x:t", ImageName("127.0.0.1:5000", "x", "t", plain=True)),
        ("http://box:5000/x:t", ImageName("box:5000", "x", "t", plain=True)),
        ("https://127.0.0.1/x:t", ImageName("127.0.0.1", "x", "t")),
        ("h.example/x:t@" + DIGEST, ImageName("h.example", "x", "t", DIGEST)),
        (
            f"h.example/x:t#{DIGEST.replace(':', '=')}",
            ImageName("h.example", "x", "t", "", False, DIGEST),
        ),
    ],
)
def test_names(text: str, name: ImageName) -> None:
    assert parse_image_name(text) == name


def test_titles() -> None:
    assert parse_image_name("ubuntu").title == "ubuntu:latest"
    assert parse_image_name("h.example/x:t").pinned(DIGEST) == f"h.example/x@{DIGEST}"
    assert parse_image_name("h.example/x:t@" + DIGEST).reference == DIGEST


@pytest.mark.parametrize(
    "text",
    [
        "",
        "UPPER/x",
        "a//b",
        "x:",
        "x@sha256:12",
        "x#sha256=12",
        "x:ta g",
        "/x",
        "http://",
        "x" * 300,
        "a/../b",
    ],
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UsageError):
        parse_image_name(text)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parse_image_name("https://me:hunter2@host/UPPER")
    assert "hunter2" not in caught.value.message
    with pytest.raises(UsageError) as caught:
        parse_image_name("me:hunter2@host/x:t@y")
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("name", ["vllm-openai:v0.33.0", "127.0.0.1:5000/vllm/vllm-openai:v0.33.0"])
def test_a_tag_before_a_digest_is_no_login(name: str) -> None:
    with pytest.raises(UsageError, match=f"`{name}@abab"):
        parse_image_name(f"{name}@{'ab' * 32}")


def test_refs() -> None:
    ref = parse_ref("container:qwen")
    assert (ref.kind, ref.form, ref.display) == (RefKind.IMAGE, RefForm.NAME, "container:qwen")
    ref = parse_ref("image:./x.tar")
    assert (ref.kind, ref.form) == (RefKind.IMAGE, RefForm.PATH)
