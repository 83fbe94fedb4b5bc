"""One suite over a folder and a hub; then what only a hub can do wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_socket

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.checkpoint_source import open_checkpoint
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.ports import CheckpointSource
from sparkproof.core.verdict import Verdict
from sparkproof.formats.json_object import SIZE_LIMIT_BYTES
from sparkproof.formats.safetensors import READ_AHEAD_BYTES
from sparkproof.testing.checkpoints import FP4, FP4_LOCAL, QWEN3, compressed_tensors, config_group
from sparkproof.testing.hub import COMMIT, HubServer
from sparkproof.testing.safetensors import shard
from sparkproof.usecases.checkpoint import look_at_checkpoint
from sparkproof.usecases.checkpoint_reading import read_from

CONFIG = json.dumps(
    {**QWEN3, "quantization_config": compressed_tensors(config_group(FP4, FP4_LOCAL))}
).encode()
LAYER = {
    "weight_packed": ("U8", (64, 32)),
    "weight_scale": ("F8_E4M3", (64, 4)),
    "weight_global_scale": ("F32", (1,)),
    "input_global_scale": ("F32", (1,)),
}
SHARDS = {
    f"model-0000{at + 1}-of-00004.safetensors": shard(
        {f"model.layers.{at}.mlp.up_proj.{leaf}": kind for leaf, kind in LAYER.items()},
        header_bytes=READ_AHEAD_BYTES + 64 if at == 3 else 0,
    )
    for at in range(4)
}
INDEX = json.dumps(
    {"metadata": {}, "weight_map": {f"t{at}": name for at, name in enumerate(SHARDS)}}
).encode()
FILES = {
    "config.json": CONFIG,
    "model.safetensors.index.json": INDEX,
    "README.md": b"read nothing here",
    **{name: head for name, (head, _) in SHARDS.items()},
}
SIZES = {name: size for name, (_, size) in SHARDS.items()}
Hub = HubServer


def listing_of(sibling: object) -> bytes:
    return json.dumps({"id": "org/model", "sha": COMMIT, "siblings": [sibling]}).encode()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    for name in [n for n in os.environ if n.startswith("HF_") or n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    pytest_socket.enable_socket()
    pytest_socket.socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    with HubServer(files=dict(FILES), sizes=dict(SIZES)) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setenv("SPARKPROOF_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf"))
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "model"
    place.mkdir()
    for name, data in FILES.items():
        with (place / name).open("wb") as file:
            file.write(data)
            file.truncate(SIZES.get(name, len(data)))
    return place


@pytest.fixture(params=["folder", "hub", "cached"])
def source(request: pytest.FixtureRequest) -> Iterator[CheckpointSource]:
    if request.param == "folder":
        opened = open_checkpoint(str(request.getfixturevalue("folder")))
    else:
        request.getfixturevalue("hub")
        if request.param == "cached":
            read_from("org/model")
        opened = open_checkpoint("org/model", offline=request.param == "cached")
    yield opened
    opened.close()


def test_files_with_their_sizes(source: CheckpointSource) -> None:
    assert source.files() == {name: SIZES.get(name, len(data)) for name, data in FILES.items()}


def test_a_whole_file_and_its_bound(source: CheckpointSource) -> None:
    assert source.read("config.json") == CONFIG
    with pytest.raises(FormatError, match="larger than 10 bytes"):
        source.read("config.json", limit_bytes=10)


def test_no_such_file(source: CheckpointSource) -> None:
    for ask in (source.read, source.open):
        with pytest.raises(KeyError):
            ask("nope.json")


def test_pieces(source: CheckpointSource) -> None:
    name = next(iter(SHARDS))
    opened = source.open(name)
    assert opened.size_bytes == SIZES[name]
    assert opened.read_at(0, READ_AHEAD_BYTES)[: len(FILES[name])] == FILES[name]
    opened.close()


def test_an_identity_that_stays(source: CheckpointSource) -> None:
    kind, _, rest = source.subject.identity.partition(":")
    assert kind in ("hub", "metadata")
    assert rest.endswith(COMMIT) or len(rest) == 64


@pytest.mark.parametrize("where", ["folder", "hub"])
def test_the_same_profile_from_either(where: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(where)
    read = read_from(str(found) if where == "folder" else "org/model")
    assert read.profile.stored is not None
    assert (read.profile.stored.shards, read.profile.stored.tensors) == (4, 16)
    assert read.profile.stored.notes == ()


def test_only_metadata_and_headers_are_asked_for(hub: HubServer) -> None:
    read_from("org/model")
    asked = [(path.rpartition("/")[2], wanted) for path, wanted, _ in hub.requests]
    assert not [path for path, _ in asked if path == "README.md"]
    for name, (head, size) in SHARDS.items():
        first = min(READ_AHEAD_BYTES, size)
        pieces = [wanted for path, wanted in asked if path == name]
        whole = [""] if first == size else [f"bytes=0-{first - 1}"]
        rest = [f"bytes={first}-{len(head) - 1}"] if len(head) > first else []
        assert pieces == whole + rest


def test_the_second_look_asks_for_the_listing_alone(hub: HubServer) -> None:
    read_from("org/model")
    before = len(hub.requests)
    read_from("org/model")
    assert [path for path, *_ in hub.requests[before:]] == [
        "/api/models/org/model/revision/main?blobs=true"
    ]


def test_offline_asks_nobody(hub: HubServer) -> None:
    first = read_from("org/model")
    before = len(hub.requests)
    again = read_from("org/model", offline=True)
    assert len(hub.requests) == before
    assert again.profile == first.profile
    assert again.subject.identity == first.subject.identity
    with pytest.raises(UnreachableError, match="not in the cache"):
        read_from("org/other", offline=True)


def test_a_revision_is_pinned(hub: HubServer) -> None:
    read = read_from(f"org/model@{COMMIT}")
    assert read.subject.identity == f"hub:org/model@{COMMIT}"
    assert read.subject.url == f"{hub.endpoint}/org/model/tree/{COMMIT}"
    assert read_from(f"{hub.endpoint}/org/model/tree/main").subject.identity.endswith(COMMIT)


@pytest.mark.parametrize(
    ("reference", "why", "hint"),
    [
        ("org/absent", "has no repository `org/absent`, or it is private", "HF_TOKEN"),
        ("org/model@nope", "no revision `nope`", "leave @REVISION out"),
    ],
)
def test_what_is_not_there(hub: HubServer, reference: str, why: str, hint: str) -> None:
    with pytest.raises(UnreachableError, match=why) as caught:
        read_from(reference)
    assert hint in caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_gated_repository_opens_with_a_token(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.gated = True
    with pytest.raises(UnreachableError, match="org/model is gated") as caught:
        read_from("org/model")
    assert "accept its terms" in caught.value.hint
    monkeypatch.setenv("HF_TOKEN", hub.token)
    assert read_from("org/model").profile.stored is not None


def test_a_private_repository_opens_with_a_token(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.private = True
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(UnreachableError, match="or it is private") as caught:
        read_from("org/model")
    assert "hf_wrong" not in str(caught.value) + caught.value.hint
    monkeypatch.setenv("HF_TOKEN", hub.token)
    assert read_from("org/model").profile.stored is not None


def test_a_token_does_not_follow_to_another_host(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", hub.token)
    with HubServer(files=hub.files, sizes=hub.sizes) as other:
        hub.elsewhere = other.port
        assert read_from("org/model").profile.stored is not None
    assert {token for _, _, token in hub.requests} == {hub.token}
    assert {token for _, _, token in other.requests} == {""}


def test_a_hub_without_ranges(hub: HubServer) -> None:
    hub.ranges = False
    assert read_from("org/model").profile.stored is not None


def test_a_listing_without_sizes(hub: HubServer) -> None:
    siblings = [{"rfilename": name} for name in FILES if name != "README.md"]
    hub.listing = json.dumps({"id": "org/model", "sha": COMMIT, "siblings": siblings}).encode()
    assert read_from("org/model").profile.stored is not None


@pytest.mark.parametrize(
    ("listing", "why"),
    [
        (b"{}", "does not say which commit|does not answer like"),
        (b"<html>", "does not answer like|can't be reached"),
        (b'{"id": "org/model", "sha": "../../etc", "siblings": []}', "does not say which commit"),
        (b"[]", "does not answer like"),
        (b"[" * 100_000, "does not answer like"),
        (b" " * (SIZE_LIMIT_BYTES + 1), "does not end"),
        (listing_of(5), "a file is no object"),
        (listing_of({"rfilename": "a.safetensors", "size": -1}), "no size that can be"),
        (listing_of({"rfilename": "a.safetensors", "size": 10**30}), "no size that can be"),
    ],
)
def test_an_answer_that_is_none(hub: HubServer, listing: bytes, why: str) -> None:
    hub.listing = listing
    with pytest.raises(UnreachableError, match=why):
        read_from("org/model")


def test_a_look_at_a_hub_writes_to_our_cache_alone(hub: HubServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    script = "from sparkproof.usecases.checkpoint_reading import read_from; read_from('org/model')"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "HF_ENDPOINT": hub.endpoint,
        "SPARKPROOF_CACHE": str(tmp_path / "cache"),
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=120)
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize("status", [403, 429, 500, 503])
def test_a_hub_in_trouble(hub: HubServer, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    hub.status = status
    with pytest.raises(UnreachableError, match=str(status)) as caught:
        read_from("org/model")
    assert caught.value.hint


def test_nobody_there(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9 can't be reached") as caught:
        read_from("org/model")
    assert "HF_ENDPOINT" in caught.value.hint


@pytest.mark.parametrize("reference", ["a b", "org/model/more", "../x/y@z:w", "org/..", "@x"])
def test_no_name_of_anything(reference: str, tmp_path: Path) -> None:
    with pytest.raises((UsageError, UnreachableError)):
        open_checkpoint(reference, offline=True, cache=ArtifactCache(tmp_path))


def test_missing_and_damaged_shards_are_told_and_the_rest_is_read(folder: Path) -> None:
    first, second, third, _ = SHARDS
    (folder / first).unlink()
    os.truncate(folder / second, SIZES[second] - 3)
    (folder / third).write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    found = read_from(str(folder)).profile
    told = {note.kind: note.what for note in found.notes}
    assert told["shard-missing"].startswith(f"1 of 4 shards are missing: {first}")
    damaged = [note.what for note in found.notes if note.kind == "shard-damaged"]
    assert any("3 of" in what and "are missing" in what for what in damaged)
    assert any("git lfs pull" in what for what in damaged)
    assert found.stored is not None
    assert found.stored.shards == 1


def test_metadata_alone(folder: Path) -> None:
    for name in SHARDS:
        (folder / name).unlink()
    found = read_from(str(folder)).profile
    assert found.stored is None
    assert "none of the 4 shards" in found.unknowns[-1].why
    alone = read_from(str(folder / "config.json"))
    assert alone.profile.formats == found.formats


def test_weights_of_another_kind_are_not_opened(folder: Path) -> None:
    for name in [*SHARDS, "model.safetensors.index.json"]:
        (folder / name).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x02")
    found = read_from(str(folder)).profile
    assert "not opened" in found.unknowns[-1].why


@pytest.mark.parametrize(
    "index",
    [b"{}", b"[]", b'{"weight_map": {"a": "../../x.safetensors"}}', b'{"weight_map": {"a": 1}}'],
)
def test_a_broken_index_is_an_unknown(folder: Path, index: bytes) -> None:
    (folder / "model.safetensors.index.json").write_bytes(index)
    found = read_from(str(folder)).profile
    assert any(u.where == "model.safetensors.index.json" for u in found.unknowns)
    assert found.stored is not None


def test_mistrals_own_format_stands_in_where_there_is_no_other(folder: Path) -> None:
    (folder / "config.json").rename(folder / "params.json")
    with pytest.raises(FormatError, match=r"params\.json"):
        read_from(str(folder))
    (folder / "params.json").write_bytes(b'{"dim": 512, "n_layers": 2, "n_heads": 8}')
    found = read_from(str(folder))
    assert found.profile.architectures == ("MistralForCausalLM",)
    assert b"num_hidden_layers" in found.files["config.json"]
    alone = folder.parent / "params.json"
    (folder / "params.json").rename(alone)
    assert read_from(str(alone)).profile.num_layers == 2


def test_a_folder_of_the_hubs_own_cache_knows_its_name(tmp_path: Path) -> None:
    place = tmp_path / "models--org--model" / "snapshots" / COMMIT
    place.mkdir(parents=True)
    (place / "config.json").write_bytes(CONFIG)
    assert open_checkpoint(str(place)).subject.identity == f"hub:org/model@{COMMIT}"


def test_an_index_that_names_other_folders_leaves_open_what_is_loaded(folder: Path) -> None:
    index = b'{"weight_map": {"a": "../../x.safetensors"}}'
    (folder / "model.safetensors.index.json").write_bytes(index)
    report = look_at_checkpoint(str(folder))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "which shards are loaded can't be told" in report.summary
