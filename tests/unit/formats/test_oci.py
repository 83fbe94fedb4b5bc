from __future__ import annotations

import json
from typing import Any

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.layer_merge import LayerStack
from sparkproof.formats.layer_plan import DATABASE, reason_to_skip
from sparkproof.formats.oci import (
    ImageConfig,
    Manifest,
    choose_platform,
    parse_config,
    parse_container_image,
    parse_document,
    parse_saved_list,
)

DIGEST = "sha256:" + "ab" * 32
LAYER = {"digest": DIGEST, "size": 5, "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"}
DOCKER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_manifests_of_both_families() -> None:
    for media_type in (LAYER["mediaType"], DOCKER):
        layer = {**LAYER, "mediaType": media_type}
        found = parse_document(
            encoded({"schemaVersion": 2, "config": LAYER, "layers": [layer]}), "m"
        )
        assert isinstance(found, Manifest)
        assert found.layers[0].size_bytes == 5


def test_an_index_knows_what_is_an_attestation() -> None:
    rows = [
        {**LAYER, "platform": {"os": "unknown", "architecture": "unknown"}},
        {**LAYER, "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}},
    ]
    found = parse_document(encoded({"schemaVersion": 2, "manifests": rows}), "i")
    assert not isinstance(found, Manifest)
    assert [entry.attestation for entry in found] == [True, False]
    assert choose_platform(found, "arm64", "i").variant == "v8"
    with pytest.raises(FormatError, match="only linux/arm64"):
        choose_platform(found, "amd64", "i")


@pytest.mark.parametrize(
    "document",
    [
        {"schemaVersion": 2, "config": {"digest": "md5:1"}, "layers": []},
        {"schemaVersion": 2, "config": LAYER, "layers": [{**LAYER, "size": -1}]},
        {"schemaVersion": 2, "config": LAYER, "layers": {"a": 1}},
        {"schemaVersion": 2, "config": LAYER, "layers": ["x"]},
        [],
    ],
)
def test_documents_that_are_none(document: Any) -> None:
    with pytest.raises(FormatError):
        parse_document(encoded(document), "x")


def test_config_history_is_matched_to_layers() -> None:
    history = [{"created_by": "FROM"}, {"created_by": "ENV", "empty_layer": True}, {}]
    data = {
        "architecture": "arm64",
        "os": "linux",
        "created": "2026-11-20T08:00:00.123456789Z",
        "config": {"Env": ["A=1", "A=2", "B"], "Labels": {"x": "y"}, "Entrypoint": None},
        "rootfs": {"diff_ids": [DIGEST, DIGEST]},
        "history": history,
    }
    config = parse_config(encoded(data), "c")
    assert config.commands == ("FROM", "")
    assert (config.variable("A"), config.variable("B"), config.variable("C")) == ("2", "", "")
    assert config.created.startswith("2026")
    assert parse_config(encoded({**data, "created": "yesterday"}), "c").created == ""
    assert parse_config(encoded({**data, "history": history[:1]}), "c").commands == ("", "")


def test_a_saved_list_and_inspect() -> None:
    rows = [{"Config": "c.json", "RepoTags": None, "Layers": ["a/layer.tar"]}]
    (image,) = parse_saved_list(encoded(rows), "m")
    assert (image.config, image.tags, image.layers) == ("c.json", (), ("a/layer.tar",))
    assert parse_container_image(encoded([{"Image": "sha256:1"}]), "c") == "sha256:1"
    for wrong in ([], [{"Id": "x"}], [{"Image": "a"}, {"Image": "b"}], "x", 7):
        with pytest.raises(FormatError):
            parse_container_image(encoded(wrong), "c")


@pytest.mark.parametrize(
    ("command", "skipped"),
    [
        ("RUN /bin/sh -c apt-get update && apt-get install -y cuda-libraries-dev-13-0", True),
        ("RUN apt-get install -y curl python3-pip", False),
        ("RUN apt-get install -y git && pip install x", False),
        ("RUN curl -L https://x | tar x", False),
        ("COPY . /workspace", False),
        ("", False),
    ],
)
def test_what_a_build_step_tells(command: str, skipped: bool) -> None:
    config = ImageConfig("arm64", "linux", diff_ids=(DIGEST,), commands=(command,))
    above = LayerStack()
    assert reason_to_skip(config, 0, 1 << 30, above) == ""
    above.files[DATABASE] = None  # type: ignore[assignment]
    assert bool(reason_to_skip(config, 0, 1 << 30, above)) is skipped
    assert reason_to_skip(config, 0, 1 << 20, above) == ""
