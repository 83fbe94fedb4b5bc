"""The version that a log states beside its image's claims."""

from __future__ import annotations

import json

import pytest

from sparkproof.core.finding import Severity
from sparkproof.facts.book import rules
from sparkproof.recipe.docker_inspect import InspectedContainer, parse_docker_inspect
from sparkproof.usecases.log.claims import judge_claims


def _container(image: str, labels: dict[str, str] | None = None) -> InspectedContainer:
    config = {"Image": image, "Labels": labels}
    return parse_docker_inspect(
        json.dumps([{"Image": "sha256:ab", "Config": config}]).encode(), "i"
    )


@pytest.mark.parametrize(
    ("image", "labels", "said"),
    [
        ("vllm/vllm-openai:v0.33.0-cu130", {}, Severity.INFO),
        ("host:5000/vllm/vllm-openai:v0.32.0@sha256:ab", {}, Severity.WARNING),
        ("me/vllm", {"org.opencontainers.image.version": "v0.31.0"}, Severity.WARNING),
        ("me/vllm:latest", {"org.opencontainers.image.version": "24.04"}, None),
        ("somebody/vllm:25.11-py3", {}, None),
        ("me/server:0.5.1", {"org.opencontainers.image.version": "0.5.1"}, None),
        ("host:5000/vllm", {}, None),
        ("", {}, None),
    ],
)
def test_claims_are_compared_where_they_can_be(
    image: str, labels: dict[str, str], said: Severity | None
) -> None:
    found = judge_claims("0.33.0+cu130", _container(image, labels))
    assert [item.severity for item in found] == ([] if said is None else [said])
    assert all(item.rule in rules() for item in found)


def test_a_development_build_is_not_what_its_tag_says() -> None:
    (found,) = judge_claims("0.1.dev1+gabc", _container("vllm/vllm-openai:v0.33.0"))
    assert "tag v0.33.0 says 0.33.0, the server in it states 0.1.dev1+gabc" in found.message
    assert judge_claims("", _container("vllm/vllm-openai:v0.33.0")) == ()
    assert judge_claims("0.33.0", None) == ()
