"""Every kind of probe, and every claim's own probe, gives both answers, or says why it can't."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.claims.samples import AT, BY_KIND, material_for, surface

from sparkproof.claims import Material, answer_claim, answer_probe
from sparkproof.claims.material import Landed
from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.condition import Tri
from sparkproof.core.observations.release_surface import Option, Oracle, Source
from sparkproof.core.unknown import Unknown
from sparkproof.facts import claim_probes as probes
from sparkproof.facts.claim import Claim, claims
from sparkproof.facts.claim_probes import Probe, is_static, parts
from sparkproof.testing.artifacts import MemoryArtifact

STATIC = [pytest.param(item, id=item.id) for item in claims().values() if is_static(item.probe)]


@pytest.mark.parametrize("claim", STATIC)
def test_each_part_of_a_claims_probe_gives_both_answers(claim: Claim) -> None:
    for part in parts(claim.probe):
        for wanted in (True, False):
            material = material_for(part, wanted)
            assert material is not None
            told = answer_probe(part, material)
            assert told.as_claimed is Tri.of(wanted), told.seen
            assert told.seen


@pytest.mark.parametrize("claim", STATIC)
def test_nothing_to_look_at_is_no_answer(claim: Claim) -> None:
    for part in parts(claim.probe):
        told = answer_probe(part, Material())
        assert told.as_claimed is Tri.UNKNOWN
        assert told.seen


@pytest.mark.parametrize("kind", BY_KIND)
def test_a_section_that_was_not_read_is_no_answer(kind: type) -> None:
    """An empty surface never passes for "not there"."""
    probe = next(
        (part for claim in claims().values() for part in parts(claim.probe) if type(part) is kind),
        None,
    )
    assert probe is not None, "no claim uses this kind"
    bare = surface(libraries=(), configs=())
    assert answer_probe(probe, Material(surface=bare)).as_claimed is Tri.UNKNOWN


def _both(*answers: bool) -> tuple[Probe, ...]:
    return tuple(probes.ArchPresent(pattern="sm_1*", expect=item) for item in answers)


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        (probes.AllOf(probes=_both(True, True)), Tri.YES),
        (probes.AllOf(probes=_both(True, False)), Tri.NO),
        (probes.AnyOf(probes=_both(False, True)), Tri.YES),
        (probes.AnyOf(probes=_both(False, False)), Tri.NO),
        (probes.AllOf(probes=(*_both(True), probes.FilePresent(pattern="x"))), Tri.UNKNOWN),
        (probes.AllOf(probes=(*_both(False), probes.FilePresent(pattern="x"))), Tri.NO),
        (probes.AnyOf(probes=(*_both(True), probes.FilePresent(pattern="x"))), Tri.YES),
        (probes.AnyOf(probes=(*_both(False), probes.FilePresent(pattern="x"))), Tri.UNKNOWN),
    ],
)
def test_parts_are_joined_in_three_values(probe: Probe, expected: Tri) -> None:
    assert answer_probe(probe, Material(archs=frozenset({"sm_120f"}))).as_claimed is expected


def test_an_unreadable_oracle_is_named() -> None:
    unknown = Unknown(where="vllm/o.py:f", why="a call", topic="select/moe/x")
    told = answer_probe(
        probes.BackendInAuto(oracle="moe/x", backend="A", expect=False),
        Material(surface=surface(unknowns=(unknown,))),
    )
    assert (told.as_claimed, told.seen) == (Tri.UNKNOWN, "vllm/o.py:f: a call")


def test_an_empty_list_is_not_the_absence_of_a_candidate() -> None:
    seen = surface(oracles=(Oracle(id="moe/x", source=AT),))
    probe = probes.BackendInAuto(oracle="moe/x", backend="A", expect=False)
    assert answer_probe(probe, Material(surface=seen)).as_claimed is Tri.UNKNOWN


def test_an_open_list_refuses_nothing() -> None:
    seen = surface(options=(Option("--q", ("a",), None, AT, closed=False),))
    ask = probes.OptionChoice(flag="--q", value="b")
    assert answer_probe(ask, Material(surface=seen)).as_claimed is Tri.UNKNOWN
    listed = probes.OptionChoice(flag="--q", value="b", listed=True)
    assert answer_probe(listed, Material(surface=seen)).as_claimed is Tri.NO


def test_a_member_that_is_no_text_holds_no_text() -> None:
    artifact = MemoryArtifact({"a.py": b"\xff\xfe", "b.py": b"two\n  words"})
    material = Material(artifact=artifact)
    assert answer_probe(
        probes.SourceText(members=("*.py",), text="two words"), material
    ).as_claimed is (Tri.YES)
    told = answer_probe(probes.SourceText(members=("*.cu",), text="two words"), material)
    assert told.as_claimed is Tri.UNKNOWN


def test_a_claim_about_other_releases_is_not_answered() -> None:
    claim = claims()["dense/b12x-flag-accepted"]
    material = material_for(claim.probe, True)
    assert material is not None
    assert material.surface is not None
    assert answer_claim(claim, material).answer is ClaimAnswer.HOLDS
    old = msgspec.structs.replace(material.surface, version="0.20.0")
    told = answer_claim(claim, Material(surface=old))
    assert (told.answer, told.seen) == (
        ClaimAnswer.CANNOT_BE_TOLD,
        f"it speaks of releases {claim.only}",
    )


def test_what_needs_a_box_says_so() -> None:
    told = answer_probe(probes.Needs(what="gpu", how="boot it"), Material())
    assert (told.as_claimed, told.seen) == (Tri.UNKNOWN, "needs a gpu: boot it")


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({1: Landed("a" * 40, "x (#1)", "v0.22.0"), 2: Landed("b" * 40)}, Tri.YES),
        ({1: Landed("a" * 40), 2: Landed("")}, Tri.NO),
        ({1: Landed("a" * 40), 2: Landed("", cut_off=True)}, Tri.UNKNOWN),
        (None, Tri.UNKNOWN),
    ],
)
def test_pull_requests_are_asked_of_a_history(
    held: dict[int, Landed] | None, expected: Tri
) -> None:
    look = held.__getitem__ if held is not None else None
    probe = probes.PullRequests(numbers=(1, 2))
    assert answer_probe(probe, Material(history=look)).as_claimed is expected


def test_paths_count_from_the_folder_that_holds_the_package() -> None:
    head = "lib/python3.12/site-packages/"
    files = {f"{head}vllm/__init__.py": b"", f"{head}vllm/config/kernel.py": b"auto"}
    material = Material(artifact=MemoryArtifact({**files, f"{head}torch/vllm/__init__.py": b""}))
    present = probes.FilePresent(pattern="vllm/config/kernel.py")
    assert answer_probe(present, material).as_claimed is Tri.YES
    text = probes.SourceText(members=("vllm/config/*.py",), text="auto")
    told = answer_probe(text, material)
    assert (told.as_claimed, told.evidence[0].where) == (
        Tri.YES,
        f"{head}vllm/config/kernel.py",
    )
    metadata = Source(f"{head}vllm-9.9.9.dist-info/METADATA", 3)
    seen = msgspec.structs.replace(surface(libraries=(f"{head}vllm/_C.abi3.so",)), source=metadata)
    library = probes.LibraryPresent(pattern="vllm/_C.abi3.so")
    assert answer_probe(library, Material(surface=seen)).as_claimed is Tri.YES
