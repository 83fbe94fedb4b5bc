"""References: what is typed, what it means, and what never shows."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.core.refs import RefForm, RefKind, parse_ref, redact_url, requirement_parts
from sparkproof.core.subject import Subject

WHEEL = "vllm-0.21.0-cp38-abi3-manylinux_2_24_aarch64.whl"


@pytest.mark.parametrize(
    ("text", "kind", "form", "value"),
    [
        ("vllm==0.33.0", RefKind.WHEEL, RefForm.REQUIREMENT, "vllm==0.33.0"),
        ("wheel:vllm", RefKind.WHEEL, RefForm.REQUIREMENT, "vllm"),
        ("vllm[fi]>=0.3, <2", RefKind.WHEEL, RefForm.REQUIREMENT, "vllm[fi]>=0.3, <2"),
        ("./vllm", RefKind.WHEEL, RefForm.PATH, "./vllm"),
        ("a/b.whl", RefKind.WHEEL, RefForm.PATH, "a/b.whl"),
        (WHEEL, RefKind.WHEEL, RefForm.FILENAME, WHEEL),
        ("vllm-1.tar.gz", RefKind.TREE, RefForm.PATH, "vllm-1.tar.gz"),
        ("tree:vllm", RefKind.TREE, RefForm.PATH, "vllm"),
        ("https://h/a.whl", RefKind.WHEEL, RefForm.URL, "https://h/a.whl"),
        ("https://h/a.tar.gz", RefKind.TREE, RefForm.URL, "https://h/a.tar.gz"),
        ("vllm @ https://h/a.whl", RefKind.WHEEL, RefForm.URL, "https://h/a.whl"),
        ("file:///x/a.whl", RefKind.WHEEL, RefForm.URL, "file:///x/a.whl"),
        ("image:vllm/vllm-openai:v1", RefKind.IMAGE, RefForm.NAME, "vllm/vllm-openai:v1"),
        ("server:http://spark:8000", RefKind.SERVER, RefForm.URL, "http://spark:8000"),
        ("host:me@spark", RefKind.HOST, RefForm.NAME, "me@spark"),
        ("checkpoint:nvidia/Q-NVFP4", RefKind.CHECKPOINT, RefForm.NAME, "nvidia/Q-NVFP4"),
        ("recipe:~/r.yaml", RefKind.RECIPE, RefForm.PATH, "~/r.yaml"),
    ],
)
def test_what_is_typed(text: str, kind: RefKind, form: RefForm, value: str) -> None:
    ref = parse_ref(text)
    assert (ref.kind, ref.form, ref.value) == (kind, form, value)
    assert parse_ref(ref.display).value == redact_url(value)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "wheel:", "vllm =< 3", "vllm==", "git+https://h/x", "ftp://h/a.whl", "x" * 5000],
)
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_ref(text)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["README.md", "model.safetensors", "deployment.toml"])
def test_a_bare_word_that_looks_like_a_file(text: str) -> None:
    with pytest.raises(UsageError, match="looks like a file") as caught:
        parse_ref(text)
    assert caught.value.hint.startswith(f"./{text}, or wheel:{text}")
    assert parse_ref(f"wheel:{text}").form is RefForm.REQUIREMENT
    assert parse_ref(f"./{text}").form is RefForm.PATH
    assert parse_ref("ruamel.yaml").form is RefForm.REQUIREMENT


@pytest.mark.parametrize("text", ["99", "0.33.0", "v0.33.0", "0.34.0rc1", "0.34.0.dev5"])
def test_a_version_is_no_package(text: str) -> None:
    with pytest.raises(UsageError, match="is a version") as caught:
        parse_ref(text)
    assert caught.value.hint == f"vllm=={text.removeprefix('v')}"


@pytest.mark.parametrize("text", ["https://h/simple", "--index-url=x", "-r x", "a\0b"])
def test_what_must_not_reach_pip(text: str) -> None:
    with pytest.raises(UsageError):
        parse_ref(text)


def test_markers_and_extras_are_left_out() -> None:
    assert requirement_parts("vllm[fi] (>=0.3, <2) ; python_version > '3'") == ("vllm", ">=0.3,<2")


@pytest.mark.parametrize(
    "text",
    [
        "https://me:hunter2@h/a.whl",
        "https://me:hun@ter2@h/a.whl",
        "vllm @ https://hunter2@h/a.whl",
        "https://h/a.whl?token=hunter2",
        "https://h/a.whl#hunter2",
        "wheel:https://me:hunter2@h/a.whl",
    ],
)
def test_credentials_never_show(text: str) -> None:
    ref = parse_ref(text)
    for shown in (ref.display, repr(ref), str(ref), f"{ref.__rich_repr__()}"):
        assert "hunter2" not in shown
        assert "ter2" not in shown
        assert "https://h/a.whl" in shown


def test_only_identities_are_compared() -> None:
    one = Subject(kind=RefKind.WHEEL, ref="vllm", identity="sha256:1", name="vllm")
    other = Subject(kind=RefKind.WHEEL, ref="./v.whl", identity="sha256:1")
    assert one.same_as(other)
    assert not one.same_as(Subject(kind=RefKind.WHEEL, ref="vllm", identity="sha256:2"))
    assert not Subject(kind=RefKind.TREE, ref="a", identity="").same_as(
        Subject(kind=RefKind.TREE, ref="a", identity="")
    )


def test_titles() -> None:
    ref = {"kind": RefKind.WHEEL, "ref": "r", "identity": "i"}
    assert Subject(**ref, name="vllm", version="0.21.0", build_tag="1").title == (  # type: ignore[arg-type]
        "vllm 0.21.0 (build 1)"
    )
    assert Subject(**ref).title == "r"  # type: ignore[arg-type]
