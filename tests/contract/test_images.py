"""Images: the same answers from every source, equal to what is in them, whatever the layers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.contract import images as forms
from tests.contract.images import OFFLINE, SITE, base_entries, metadata, script, small_image

from sparkproof.adapters.image import ImageArtifact
from sparkproof.adapters.image_archive import open_saved
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.adapters.open_image import identify_image
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.observations.image import ImageObservation
from sparkproof.core.refs import parse_ref
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.image.box import box_from_image
from sparkproof.image.observe import observe_image
from sparkproof.testing import images
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.images import Entry, ImageFolder
from sparkproof.testing.registry import RegistryServer

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

DATA = Path(__file__).resolve().parents[1] / "data" / "device_code"
GB10 = ComputeCapability(12, 1)
LIBRARY = (DATA / "mixed_many.so").read_bytes()
OTHER = (DATA / "elf_120a.so").read_bytes()
STAMP = b"__version__ = version = '0.33.0'\n__commit_id__ = commit_id = 'g4ba787ec9'\n"
VLLM: dict[str, bytes] = {
    "vllm/__init__.py": b"",
    "vllm/_version.py": STAMP,
    "vllm/_C.abi3.so": LIBRARY,
    **metadata("vllm", "0.33.0"),
    "vllm-0.33.0.dist-info/RECORD": f"vllm/_C.abi3.so,sha256=x,{len(LIBRARY)}\n".encode(),
}
PACKAGES = {
    **VLLM,
    "torch/version.py": b"__version__ = '2.12.0+cu130'\ncuda: Optional[str] = '13.0'\n",
    **metadata("torch", "2.12.0+cu130"),
    **metadata("flashinfer-python", "0.6.13"),
    "unknown_package/big.py": b"x = 1\n" * 1000,
}


@pytest.fixture
def folder(tmp_path: Path) -> ImageFolder:
    return ImageFolder(tmp_path / "image")


def opened(folder: ImageFolder) -> ImageArtifact:
    return ImageArtifact(open_saved(folder.folder, architecture="arm64"))


def built(folder: ImageFolder, *layers: list[Entry], **config: Any) -> ImageArtifact:
    """An image of an operating system, the given layers, and the ``vllm`` command."""
    made = [folder.layer(entries) for entries in (base_entries(), *layers, script())]
    folder.image(made, **{**forms.CONFIG, **config})
    return opened(folder)


def observed(artifact: ImageArtifact) -> ImageObservation:
    return observe_image(artifact.contents(), artifact.name)


def at_site(files: dict[str, bytes], site: str = SITE) -> list[Entry]:
    return images.files(files, f"{site}/")


Sources = Iterator[tuple[str, ImageArtifact]]


@pytest.fixture
def every_source(folder: ImageFolder, tmp_path: Path) -> Sources:
    def sources() -> Sources:
        image = small_image(folder, PACKAGES)
        for name, opener in OFFLINE.items():
            yield name, opener(folder, image, tmp_path)
        with RegistryServer(folder, {"vllm/vllm-openai:v1": image.manifest}) as server:
            yield "registry", forms.from_registry(server)

    return sources()


def test_every_source_gives_the_same_answer(every_source: Sources) -> None:
    wheel = MemoryArtifact(PACKAGES)
    own = read_device_code(wheel, GB10)
    assert own.libraries[0].containers
    seen = {}
    identities = set()
    for name, artifact in every_source:
        assert read_device_code(artifact, GB10) == own, name
        assert artifact.read("vllm/_version.py") == STAMP
        told = msgspec.to_builtins(observed(artifact))
        for key in ("name", "tags", "manifest_digest", "index_digest"):
            del told[key]
        for layer in told["layers"]:
            del layer["stored_bytes"]
        seen[name] = told
        ref = parse_ref("image:./x")
        identities.add(identify_image(ref, artifact).identity)
        artifact.close()
    assert [name for name, told in seen.items() if told != seen["layout"]] == []
    assert len(seen) == 7
    assert len(identities) == 1


def test_what_is_in_it(folder: ImageFolder) -> None:
    small_image(folder, PACKAGES)
    image = observed(opened(folder))
    assert image.vllm is not None
    assert (image.vllm.version, image.vllm.stamped, image.vllm.commit) == (
        "0.33.0",
        "0.33.0",
        "g4ba787ec9",
    )
    assert [(p.name, p.version) for p in image.packages] == [
        ("vllm", "0.33.0"),
        ("torch", "2.12.0+cu130"),
        ("flashinfer-python", "0.6.13"),
    ]
    assert (image.python, image.python_version, image.torch_cuda) == (
        "/usr/bin/python3",
        "3.12",
        "13.0",
    )
    assert image.python_told_by == "first line of /usr/local/bin/vllm"
    assert image.distribution == "Ubuntu 24.04.3 LTS"
    assert [(t.name, t.path, t.reachable, t.version) for t in image.tools] == [
        ("nvcc", "/usr/local/cuda/bin/nvcc", True, "13.0"),
        ("ninja", "/usr/bin/ninja", True, ""),
    ]
    box = box_from_image(image)
    assert (box.nvcc, box.ninja, box.platform, box.python) == (True, True, "aarch64", "3.12")
    assert box.packages == {"torch": "2.12.0+cu130", "flashinfer-python": "0.6.13"}
    assert [layer.command for layer in image.layers] == [
        "ADD rootfs",
        "RUN pip install vllm",
        "COPY vllm",
    ]


def test_a_program_that_is_not_on_the_path_does_not_count(folder: ImageFolder) -> None:
    env = ["PATH=/usr/local/bin"]
    hidden = [images.removed("usr/local/cuda"), images.removed("usr/bin/ninja")]
    image = observed(built(folder, at_site(VLLM), hidden, Env=env))
    assert [(t.name, t.path, t.reachable) for t in image.tools] == [
        ("nvcc", "/usr/local/cuda-13.0/bin/nvcc", False)
    ]
    assert (box_from_image(image).nvcc, box_from_image(image).ninja) == (False, False)
    home = observed(
        built(folder_beside(folder), at_site(VLLM), Env=["CUDA_HOME=/usr/local/cuda-13.0"])
    )
    assert home.tools[0].reachable


def folder_beside(folder: ImageFolder) -> ImageFolder:
    return ImageFolder(folder.folder.with_name("beside"))


def test_layers_are_read_once(folder: ImageFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = built(folder, at_site(PACKAGES))
    asked: list[str] = []
    source = artifact.source
    before = source.layers

    def counted(wanted: Callable[[str], bool]) -> Iterator[tuple[str, Iterator[bytes]]]:
        for key, chunks in before(wanted):
            asked.append(key)
            yield key, chunks

    monkeypatch.setattr(source, "layers", counted)
    code = read_device_code(artifact, GB10)
    observed(artifact)
    artifact.read("vllm/_version.py")
    assert len(code.libraries) == 1
    assert sorted(asked) == sorted(source.parts().keys)
    assert read_device_code(artifact, GB10) == code, "again, from the layer that holds it"
    assert len(asked) == len(source.parts().keys) + 1


def test_a_later_layer_counts(folder: ImageFolder) -> None:
    artifact = built(folder, at_site(VLLM), at_site({"vllm/_C.abi3.so": OTHER}))
    assert read_device_code(artifact, GB10) == read_device_code(
        MemoryArtifact({**VLLM, "vllm/_C.abi3.so": OTHER}), GB10
    )
    (replaced,) = observed(artifact).replaced
    assert (replaced.path, replaced.layer, replaced.installed) == ("vllm/_C.abi3.so", 2, 1)
    assert (replaced.size_bytes, replaced.recorded_bytes) == (len(OTHER), len(LIBRARY))


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        (images.removed(f"{SITE}/vllm/_C.abi3.so"), 4),
        (images.removed(f"{SITE}/vllm"), 2),
        (images.removed(f"{SITE}/vllm-0.33.0.dist-info"), 3),
        (images.opaque(f"{SITE}/vllm"), 2),
        (images.opaque("usr/local/lib"), 0),
        (images.removed("usr/local/lib/python3.12"), 0),
        (images.link(f"{SITE}/vllm", "/nowhere"), 2),
        (Entry(f"{SITE}/vllm", 1, (b"x",)), 2),
    ],
)
def test_what_is_removed_is_gone(folder: ImageFolder, gone: Entry, left: int) -> None:
    artifact = built(folder, at_site(VLLM), [gone])
    here = [m.path for m in artifact.members() if m.path.startswith("vllm")]
    assert len([path for path in here if path != "vllm"]) == left


def test_what_comes_back_in_the_same_layer_is_there(folder: ImageFolder) -> None:
    again = [images.opaque(f"{SITE}/vllm"), *at_site({"vllm/new.py": b"new"})]
    artifact = built(folder, at_site(VLLM), again)
    assert [m.path for m in artifact.members() if m.path.startswith("vllm/")] == ["vllm/new.py"]
    assert artifact.read("vllm/new.py") == b"new"


@pytest.mark.parametrize("store", ["root/.cache/uv/archive-v0/x/vllm", "opt/store"])
def test_hard_links_lead_to_the_bytes(folder: ImageFolder, store: str) -> None:
    target = f"{store}/_C.abi3.so"
    links = [images.hard_link(f"{SITE}/vllm/_C.abi3.so", target)]
    entries = [*images.files({target: LIBRARY}), *at_site({"vllm/__init__.py": b""}), *links]
    artifact = built(folder, entries)
    if store.startswith("opt"):
        (unknown,) = artifact.unknowns()
        assert "hard link" in unknown.why
        return
    code = read_device_code(artifact, GB10)
    assert [library.path for library in code.libraries] == ["vllm/_C.abi3.so"]
    assert artifact.read("vllm/_C.abi3.so") == LIBRARY


def test_links_are_followed_inside_the_image_only(folder: ImageFolder) -> None:
    entries = [
        images.link("opt/venv/bin/python", "../../../../../../../usr/bin/python3"),
        *images.files({"opt/venv/pyvenv.cfg": b"home = /usr/bin\nversion = 3.12.3\n"}),
        images.link("opt/venv/lib64", "lib"),
        *at_site(VLLM, "opt/venv/lib/python3.12/site-packages"),
        images.link("opt/circle", "circle"),
    ]
    image = observed(built(folder, entries, script("/opt/venv/bin/python")))
    assert image.vllm is None, "the command on top is run by the system's Python"
    made = [folder_beside(folder).layer(e) for e in (base_entries(), entries)]
    venv = folder_beside(folder)
    venv.image([*made, venv.layer(script("/opt/venv/bin/python"))], **forms.CONFIG)
    image = observed(opened(venv))
    assert image.sites == ("opt/venv/lib/python3.12/site-packages",)
    assert image.vllm is not None
    assert image.python == "/opt/venv/bin/python"


def two_copies(folder: ImageFolder, python: str) -> ImageObservation:
    venv = [
        *images.files({"opt/venv/pyvenv.cfg": b"home = /usr/bin\n"}),
        images.link("opt/venv/bin/python3", "/usr/bin/python3.12"),
        *at_site(
            {"vllm/__init__.py": b"", **metadata("vllm", "0.32.0")},
            "opt/venv/lib/python3.12/site-packages",
        ),
    ]
    made = [folder.layer(e) for e in (base_entries(), at_site(VLLM), venv)]
    if python:
        made.append(folder.layer(script(python)))
        folder.image(made, **forms.CONFIG)
    else:
        folder.image(made, Env=["PATH=/usr/bin"])
    return observed(opened(folder))


@pytest.mark.parametrize(
    ("python", "version", "certain"),
    [
        ("/opt/venv/bin/python3", "0.32.0", True),
        ("/usr/bin/python3", "0.33.0", True),
        ("", "0.33.0", False),
    ],
)
def test_of_two_copies_the_one_that_python_imports_counts(
    folder: ImageFolder, python: str, version: str, certain: bool
) -> None:
    image = two_copies(folder, python)
    assert len(image.vllms) == 2
    assert image.vllm is not None
    assert (image.vllm.version, image.python_certain) == (version, certain)


def test_names_that_lead_out_devices_and_sparse_files_are_said(folder: ImageFolder) -> None:
    odd = [
        Entry("../../etc/passwd", 1, (b"x",)),
        Entry(f"/{SITE}/vllm/absolute.py", 1, (b"x",)),
        Entry(f"{SITE}/vllm/a/../../b.py", 1, (b"x",)),
        Entry(f"{SITE}/vllm/pipe.so", kind=b"6"),
        Entry("dev/null", kind=b"3"),
    ]
    artifact = built(folder, at_site(VLLM), odd)
    assert "vllm/absolute.py" in {m.path for m in artifact.members()}
    assert sorted(unknown.where for unknown in artifact.unknowns()) == [
        "../../etc/passwd",
        f"{SITE}/vllm/a/../../b.py",
        f"{SITE}/vllm/pipe.so",
    ]


def test_a_damaged_layer_is_one_error(folder: ImageFolder) -> None:
    image = small_image(folder, PACKAGES)
    for layer in image.layers:
        whole = folder.read(layer.digest)
        # Behind its two blocks of zeros a plain archive may end anywhere.
        cuts = (700, 900) if layer.media_type.endswith(".tar") else (-7, len(whole) // 2)
        for damaged in (whole[:cut] for cut in cuts):
            folder.path(layer.digest).write_bytes(damaged)
            with pytest.raises(FormatError, match=layer.digest[7:19]):
                opened(folder).members()
        folder.path(layer.digest).write_bytes(whole)
    folder.path(image.layers[1].digest).unlink()
    with pytest.raises(FormatError, match="missing"):
        opened(folder).members()


def test_an_archive_of_several_images_needs_a_name(folder: ImageFolder, tmp_path: Path) -> None:
    for tag in ("one", "two"):
        folder.image([folder.layer(base_entries())], name=tag, Labels={"tag": tag})
    path = folder.write_oci_archive(tmp_path / "both.tar")
    with pytest.raises(FormatError, match="one, two"):
        open_artifact(f"image:{path}")
    subject, artifact = open_artifact(f"image:{path}#two")
    assert subject.identity.startswith("image:sha256:")
    artifact.close()


def test_one_image_under_two_names_is_one(folder: ImageFolder) -> None:
    layer = folder.layer(base_entries())
    for tag in ("one", "two"):
        folder.image([layer], name=tag)
    assert opened(folder).source.parts().tags == ("one",)


DOCKER = """#!/bin/sh
case "$1 $2" in
"image save") [ "$3" = vllm:test ] && exec cat {archive}; echo "No such image: $3" >&2; exit 1;;
"inspect --type") echo '[{{"Image": "vllm:test"}}]';;
esac
"""


def test_the_engine_s_own_program(
    folder: ImageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = folder.write_saved(small_image(folder, VLLM), tmp_path / "saved.tar")
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(DOCKER.format(archive=archive))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    for reference in ("image:engine:vllm:test", "container:qwen"):
        subject, artifact = open_artifact(reference)
        assert subject.identity.startswith("image:sha256:")
        assert artifact.read("vllm/_version.py") == STAMP
        artifact.close()
    with pytest.raises(UnreachableError, match="No such image: vllm:absent"):
        open_artifact("image:engine:vllm:absent")


def test_what_is_no_image_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(images.tar_bytes(images.files({"a.txt": b"a"})))
    (tmp_path / "y.tar").write_bytes(b"no tar" * 1000)
    for name in ("x.tar", "y.tar", "."):
        with pytest.raises(FormatError):
            open_artifact(f"image:{tmp_path / name}")
    with pytest.raises(UnreachableError):
        open_artifact(f"image:{tmp_path / 'absent.tar'}")
    with pytest.raises(UsageError):
        open_artifact("image:Not A Name")
    with pytest.raises(UnreachableError, match="registry"):
        open_artifact("image:vllm/vllm-openai:v1", offline=True)


def test_an_engine_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    _, artifact = None, None
    with pytest.raises(UnreachableError, match="neither docker nor podman"):
        _, artifact = open_artifact("image:engine:vllm:test")
    assert artifact is None
