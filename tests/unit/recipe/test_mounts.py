"""A container's path as it lies on the host."""

from __future__ import annotations

import json

import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.recipe.launch_script import parse_launch_script
from sparkproof.recipe.mounts import host_path
from sparkproof.recipe.orchestration_json import parse_saved_json

MODEL = ("--model", "/models/fp8")


def _script(mount: str, model: str = "/models/fp8") -> Deployment:
    text = f"docker run --rm {mount} vllm/vllm-openai:v0.33.0 --model {model}\n"
    return parse_launch_script(text.encode(), "run.sh")


FOLLOWED = [
    ("-v /srv/op:/models", "/srv/op/fp8"),
    ("-v /srv/op/:/models/:ro", "/srv/op/fp8"),
    ("--volume=/srv:/ -v /srv/op:/models", "/srv/op/fp8"),
    ("--volume /srv/one:/models/fp8:ro,Z", "/srv/one"),
    ("--mount type=bind,source=/srv/op,target=/models,readonly", "/srv/op/fp8"),
    ("--mount type=bind,src=/srv/op,dst=/models", "/srv/op/fp8"),
    ("-v ~/op:/models", "~/op/fp8"),
    ('-v "$HOME/op":/models', "~/op/fp8"),
    ("-v ${HOME}/op:/models", "~/op/fp8"),
    ("-v $PWD/op:/models", "./op/fp8"),
    ("-v $(pwd)/op:/models", "./op/fp8"),
    ("-v ./op:/models", "./op/fp8"),
]
LEFT = [
    "-v models:/models",
    "-v /srv/op:/model",
    "-v $STORE/op:/models",
    "--mount type=volume,source=op,target=/models",
    "-v /models",
    "--mount type=tmpfs,target=/models",
]


@pytest.mark.parametrize(("mount", "place"), FOLLOWED)
def test_a_bound_folder_is_followed_to_the_host(mount: str, place: str) -> None:
    assert _script(mount).checkpoint == place


@pytest.mark.parametrize("mount", LEFT)
def test_what_only_the_engine_or_the_shell_knows_is_left(mount: str) -> None:
    assert _script(mount).checkpoint == "/models/fp8"


def test_a_repository_is_no_path() -> None:
    assert _script("-v /srv/op:/models", "org/fp8").checkpoint == "org/fp8"
    assert host_path("/models/../etc/x", {}) == "/models/../etc/x"


def test_inspections_and_compose_files_tell_mounts_too() -> None:
    mount = {"Type": "bind", "Source": "/srv/op", "Destination": "/models"}
    named = {"Type": "volume", "Source": "/var/lib/op", "Destination": "/models/fp8"}
    config = {"Image": "vllm/vllm-openai:v0.33.0", "Cmd": ["vllm", "serve", *MODEL]}
    inspected = [{"Name": "/a", "Config": config, "Mounts": [mount, named, {"Type": "bind"}, 3]}]
    assert parse_saved_json(json.dumps(inspected).encode(), "i").checkpoint == "/srv/op/fp8"
    for volume in (
        {"type": "bind", "source": "/srv/op", "target": "/models"},
        "/srv/op:/models:ro",
    ):
        service = {"image": "i:1", "command": ["vllm", "serve", *MODEL], "volumes": [volume]}
        compose = json.dumps({"services": {"a": service}}).encode()
        assert parse_saved_json(compose, "c").checkpoint == "/srv/op/fp8"
