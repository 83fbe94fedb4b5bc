"""Families, as shipped: each proves itself on real names, and no name belongs to two."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.devicecode.families import FamilyBook, family_book, scalar_types
from sparkproof.facts.kernel_family import OTHER, KernelFamily, kernel_families

FAMILIES = kernel_families()
IDS = [family.id for family in FAMILIES]


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_examples_match_and_belong_to_no_other(family: KernelFamily) -> None:
    assert family.examples or family.files
    for example in family.examples:
        found = {m.family for m in family_book().all_matches(example, family.examples)}
        assert found == {family.id}, example


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_neighbours_do_not_match(family: KernelFamily) -> None:
    book = FamilyBook([family])
    assert family.neighbours or family.files
    for neighbour in family.neighbours:
        assert not book.all_matches(neighbour, [neighbour]), neighbour


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_every_way_to_match_has_an_example(family: KernelFamily) -> None:
    for match in family.match:
        book = FamilyBook([msgspec.structs.replace(family, match=(match,))])
        assert any(book.all_matches(example, family.examples) for example in family.examples), match


def test_ids_are_unique_and_told_as_slugs() -> None:
    assert len(set(IDS)) == len(IDS)
    assert OTHER not in IDS
    assert all(family_id == family_id.lower().replace("_", "-") for family_id in IDS)


def test_what_nobody_claims_is_other() -> None:
    assert [m.family for m in family_book().sort(["_Z7unknownv", "_ZN99damaged"])] == [OTHER, OTHER]


def test_a_loose_file_can_belong_as_a_whole() -> None:
    members = family_book().sort(["fmhaKernel"], "flashinfer_cubin/cubins/x/fmha.cubin")
    assert [m.family for m in members] == ["flashinfer-cubins"]


def test_siblings_tell_two_users_of_one_template_apart() -> None:
    qutlass = next(family for family in FAMILIES if family.id == "qutlass")
    shared = next(
        name for name in qutlass.examples if "float_ue4m3_t" in name and "7qutlass" not in name
    )
    assert family_book().sort([shared])[0].family == "nvfp4-dense"
    assert family_book().sort([shared, *qutlass.examples])[0].family == "qutlass"


HALF, E2M1, E4M3 = 1125899906910725, 562949953487106, 2814749767172868
BF16, E8M0 = 1125899906909960, 2814749767106568


@pytest.mark.parametrize(
    ("ids", "types"),
    [
        ((HALF, E2M1, HALF, E4M3), "16bit/e2m1/e4m3"),
        ((E2M1, E4M3), "16bit/e2m1/e4m3"),
        ((E4M3, E2M1, BF16, E8M0), "e4m3/e2m1/e8m0"),
        ((), ""),
    ],
)
def test_scalar_types_of_old_and_new_marlin(ids: tuple[int, ...], types: str) -> None:
    literals = "".join(f"Ll{number}E" for number in ids)
    assert scalar_types(f"_ZN6marlin6MarlinI{literals}Li256EEEvPv") == types
