"""Compose files and Kubernetes objects, as their own tools print them in JSON."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.recipe.orchestration_json import parse_saved_json
from sparkproof.recipe.other_forms import refuse_form


def _compose(**service: Any) -> dict[str, Any]:
    return {"name": "stack", "services": {"web": {"image": "nginx"}, "llm": service}}


def _pod(**container: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "llm", "image": "reg/vllm:1", **container}]}
    return {"kind": "Deployment", "spec": {"template": {"spec": spec}}}


FORMS = [
    _compose(
        image="reg/vllm:1",
        command=["vllm", "serve", "org/model", "--max-model-len", "8192"],
        environment={"VLLM_A": "1", "HOME": "/x"},
    ),
    _compose(
        image="reg/vllm:1",
        command=["--model", "org/model", "--max-model-len", "8192"],
        environment=["VLLM_A=1"],
    ),
    _compose(
        image="reg/vllm:1",
        entrypoint=["/bin/bash", "-c"],
        command=["LEN=8192; vllm serve org/model --max-model-len $${LEN}"],
        environment={"VLLM_A": "1"},
    ),
    _pod(
        command=["/bin/sh", "-c", "vllm serve org/model --max-model-len 8192"],
        env=[{"name": "VLLM_A", "value": "1"}, {"name": "HF_TOKEN", "valueFrom": {}}],
    ),
    _pod(
        args=["--model=org/model", "--max-model-len", "$(LEN)"],
        env=[{"name": "VLLM_A", "value": "1"}, {"name": "LEN", "value": "8192"}],
    ),
    {"kind": "List", "items": [{"kind": "Service"}, _pod(args=["--model=org/model"])]},
]


@pytest.mark.parametrize("document", FORMS[:-1])
def test_the_serving_container_is_the_deployment(document: dict[str, Any]) -> None:
    deployment = parse_saved_json(json.dumps(document).encode(), "d.json")
    assert deployment.checkpoint == "org/model"
    assert deployment.args == ("--max-model-len", "8192")
    assert deployment.artifact == "image:reg/vllm:1"
    assert deployment.env == {"VLLM_A": "1"}


def test_a_list_of_objects_is_searched() -> None:
    deployment = parse_saved_json(json.dumps(FORMS[-1]).encode(), "d.json")
    assert (deployment.checkpoint, deployment.name) == ("org/model", "llm")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"services": {}}, "no container of it serves"),
        ({"services": {"a": 3}}, "no container of it serves"),
        ({"kind": "Pod", "spec": 3}, "no container of it serves"),
        ({"services": {n: {"command": ["vllm", "serve", n]} for n in "ab"}}, "more than one"),
        (_pod(args=["--model=m/m"], envFrom=[{"configMapRef": {}}]), "`envFrom` of `llm`"),
        (
            _pod(args=["--model=m/m"], env=[{"name": "VLLM_A", "valueFrom": {}}]),
            "`valueFrom` of `VLLM_A`",
        ),
        (_compose(image="i", command=["vllm", "serve", "m", "--config", "c.yaml"]), "--config"),
        ({"kind": 3}, "neither a checkpoint's config nor a container"),
    ],
)
def test_what_is_said_elsewhere_is_refused_by_name(document: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_saved_json(json.dumps(document).encode(), "d.json")


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        ("c.yaml", "services:\n  llm:\n    image: i\n", "compose file", "docker compose -f c.yaml"),
        ("p.yml", "apiVersion: v1\nkind: Pod\n", "Kubernetes manifest", "kubectl create"),
        ("r.yaml", "name: x\ncommand: |\n  vllm serve m\n", "launcher's recipe", "docker inspect"),
        ("s.yaml", "model: m/m\nmax-model-len: 8192\n", "file of vLLM arguments", "after `--`"),
        ("v.service", "[Service]\nExecStart=vllm serve m\n", "systemd unit", "ExecStart="),
        ("start.py", "import vllm\n", "neither run nor read", "docker inspect"),
        ("x.yaml", "- 1\n", "YAML is not read", "TOML"),
    ],
)
def test_other_forms_are_named_with_the_way_out(
    name: str, text: str, message: str, hint: str
) -> None:
    error = refuse_form(text, name)
    assert message in str(error)
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (_pod(args=["--model=org/model"], env=5), "`env` is no list"),
        (_pod(args=["--model=org/model"], env={"A": "1"}), "`env` is no list"),
        ({"kind": "Pod", "spec": {"containers": 5}}, "`containers` is no list"),
        ({"kind": "Pod", "spec": {"containers": {"a": {}}}}, "`containers` is no list"),
        (
            _pod(
                args=["--model=org/model", *["$(A)"] * 500],
                env=[{"name": "A", "value": "x" * 5000}],
            ),
            "fill in more than 1048576 characters",
        ),
    ],
)
def test_objects_out_of_shape_end_in_one_error(document: dict[str, Any], why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        parse_saved_json(json.dumps(document).encode(), "d.json")
    assert caught.value.hint


_ODD: tuple[Any, ...] = (
    None,
    5,
    -1.5,
    True,
    "x",
    [],
    [5, None, []],
    {},
    {"a": 5},
    [{}],
    [{"name": 5, "value": 5}],
)


@pytest.mark.parametrize("odd", _ODD)
@pytest.mark.parametrize(
    "key", ["name", "image", "args", "command", "env", "envFrom", "environment", "volumes"]
)
def test_any_value_in_any_place_is_read_or_refused(key: str, odd: Any) -> None:
    words = {"args": ["--model=org/model"], "command": ["vllm", "serve", "org/model"]}
    for document in (_pod(**{**words, key: odd}), _compose(**{**words, key: odd})):
        with contextlib.suppress(FormatError):
            assert parse_saved_json(json.dumps(document).encode(), "d.json").checkpoint
