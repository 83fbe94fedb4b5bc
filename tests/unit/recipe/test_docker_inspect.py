"""A container's inspection into the deployment it runs, and how it ended."""

from __future__ import annotations

import json

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.recipe.docker_inspect import deployment_of, parse_docker_inspect


def _inspect(entrypoint: object, command: object, **state: object) -> bytes:
    return json.dumps(
        [
            {
                "Name": "/spark",
                "Image": "sha256:" + "a" * 64,
                "RestartCount": 2,
                "State": {"Status": "exited", "ExitCode": 137, "OOMKilled": True, **state},
                "Config": {
                    "Image": "vllm/vllm-openai:v0.33.0-aarch64-cu130",
                    "Entrypoint": entrypoint,
                    "Cmd": command,
                    "Env": ["VLLM_USE_V2_MODEL_RUNNER=1", "HOME=/x", "HF_TOKEN=hf_x", "BAD"],
                },
            }
        ]
    ).encode()


COMMANDS = [
    (["vllm", "serve"], ["org/model", "--max-model-len", "8192"]),
    (["/usr/bin/vllm", "serve", "org/model"], ["--max-model-len", "8192"]),
    (None, ["bash", "-lc", "vllm serve org/model \\\n --max-model-len 8192"]),
    (
        ["python3", "-m", "vllm.entrypoints.openai.api_server"],
        ["--model", "org/model", "--max-model-len", "8192"],
    ),
    (["vllm", "serve"], ["--model=org/model", "--max-model-len", "8192"]),
]


@pytest.mark.parametrize(("entrypoint", "command"), COMMANDS)
def test_every_way_to_start_it_gives_one_deployment(entrypoint: object, command: object) -> None:
    deployment = deployment_of(parse_docker_inspect(_inspect(entrypoint, command), "i"), "i")
    assert deployment.checkpoint == "org/model"
    assert deployment.args == ("--max-model-len", "8192")
    tag = "image:vllm/vllm-openai:v0.33.0-aarch64-cu130"
    assert deployment.artifact == f"{tag}#sha256={'a' * 64}"
    assert deployment.name == "spark"
    assert set(deployment.env) == {"VLLM_USE_V2_MODEL_RUNNER", "HF_TOKEN"}


ID, MANIFEST, TAG = "a" * 64, "sha256:" + "b" * 64, "h.example/vllm:v0.33.0"
TOLD = [
    ({"Image": f"sha256:{ID}"}, TAG, f"image:{TAG}#sha256={ID}"),
    ({"Image": ID, "ImageDigest": MANIFEST, "ImageName": TAG}, TAG, f"image:{TAG}@{MANIFEST}"),
    ({"Image": ID, "ImageDigest": MANIFEST, "ImageName": TAG}, "", f"image:{TAG}@{MANIFEST}"),
    ({"ImageManifestDescriptor": {"digest": MANIFEST}}, TAG, f"image:{TAG}@{MANIFEST}"),
    ({"Image": f"sha256:{ID}"}, f"{TAG}@{MANIFEST}", f"image:{TAG}@{MANIFEST}"),
    ({"Image": f"sha256:{ID}"}, ID[:12], f"image:engine:{ID[:12]}"),
    ({"Image": f"sha256:{ID}"}, f"sha256:{ID}", f"image:engine:sha256:{ID}"),
    ({"Image": "abc"}, TAG, f"image:{TAG}"),
    ({}, "", ""),
]


@pytest.mark.parametrize(("told", "image", "artifact"), TOLD)
def test_the_image_is_named_by_what_a_registry_finds(
    told: dict[str, object], image: str, artifact: str
) -> None:
    config = {"Image": image, "Cmd": ["vllm", "serve", "m/m"]}
    data = json.dumps([{"Name": "/x", "Config": config, **told}]).encode()
    assert deployment_of(parse_docker_inspect(data, "i"), "i").artifact == artifact


def test_a_shell_text_is_read_as_a_shell_would() -> None:
    text = "export VLLM_A=$VLLM_USE_V2_MODEL_RUNNER && exec vllm serve m/m --port 1 2>&1 | tee log"
    deployment = deployment_of(parse_docker_inspect(_inspect(["bash", "-c"], [text]), "i"), "i")
    assert (deployment.checkpoint, deployment.args) == ("m/m", ("--port", "1"))
    assert deployment.env["VLLM_A"] == "1"


@pytest.mark.parametrize(
    "text", ["VLLM_A=$(f) vllm serve m/m", "vllm serve $NOWHERE", "vllm serve m/m --config c.yaml"]
)
def test_what_only_the_container_knows_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match=r"known only|--config"):
        deployment_of(parse_docker_inspect(_inspect(["bash", "-c"], [text]), "i"), "i")


def test_how_it_ended() -> None:
    state = parse_docker_inspect(_inspect([], []), "i").state
    assert (state.status, state.exit_code, state.oom_killed, state.restarts) == (
        "exited",
        137,
        True,
        2,
    )
    running = parse_docker_inspect(_inspect([], [], Status="running", ExitCode=0), "i").state
    assert running.exit_code == -1


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"[1]", b'{"Config": 3}', b"\xff"])
def test_anything_else_is_one_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_docker_inspect(data, "i")


def test_a_container_of_something_else_is_refused() -> None:
    with pytest.raises(FormatError, match="vllm serve"):
        deployment_of(parse_docker_inspect(_inspect(["nginx"], ["-g", "daemon off;"]), "i"), "i")
