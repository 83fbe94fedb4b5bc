"""How single shapes of source are read: constants taken apart, questions to the outside."""

from __future__ import annotations

import textwrap

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import Condition, Gate, Opaque, Setting, Tri, evaluate, leaves
from sparkproof.core.observations.release_surface import ReleaseSurface, Source
from sparkproof.facts.release_layout import foreign_constants
from sparkproof.release.quant_keys import read_quant_keys
from sparkproof.release.reading import read_predicate
from sparkproof.release.symbolic.interpreter import Session
from sparkproof.release.symbolic.modules import ModuleTable
from sparkproof.release.symbolic.values import ClassValue
from sparkproof.selection.context import Context
from sparkproof.selection.settings import Settings
from sparkproof.testing.artifacts import MemoryArtifact

KEYS = "vllm/model_executor/layers/quantization/utils/quant_utils.py"
SOURCES = {
    "vllm/__init__.py": "",
    KEYS: """
        from typing import ClassVar, NamedTuple
        import torch

        class _Shape(NamedTuple):
            row: int
            col: int

        class GroupShape(_Shape):
            PER_TOKEN: ClassVar["GroupShape"]

        GroupShape.PER_TOKEN = GroupShape(1, -1)

        class ScaleDesc:
            dtype: torch.dtype
            static: bool
            group_shape: GroupShape

        class QuantKey:
            dtype: torch.dtype
            scale: ScaleDesc
            scale2: ScaleDesc | None = None
            symmetric: bool = True

        kGroup = ScaleDesc(torch.float16, False, GroupShape(1, 16))
        kToken = ScaleDesc(torch.float32, False, GroupShape.PER_TOKEN)
        kSled = QuantKey(torch.uint8, scale=kGroup, scale2=kToken)
        kDog = QuantKey(torch.int8, kToken, symmetric=False)
    """,
    "vllm/rules.py": """
        import requests
        from humming.config import GemmType
        from vllm.model_executor.layers.quantization.utils.quant_utils import GroupShape, kSled

        def has_store() -> bool:
            try:
                answer = requests.get("x", timeout=5)
                return answer.status_code == 200
            except Exception:
                return False

        class Rule:
            @staticmethod
            def shape(key):
                return key.scale2.group_shape == GroupShape.PER_TOKEN

            @staticmethod
            def same_scale(key):
                return key.scale == kSled.scale

            @staticmethod
            def store():
                return has_store()

            @staticmethod
            def sides(one, other):
                return one.width != other.width

            @staticmethod
            def outside():
                return "indexed" == GemmType.INDEXED.value.lower()

            @staticmethod
            def unread(one):
                return one.width == (lambda: 1)
    """,
}
SURFACE = ReleaseSurface("0", Source("x"))


@pytest.fixture(scope="module")
def session() -> Session:
    files = {path: textwrap.dedent(text).encode() for path, text in SOURCES.items()}
    return Session(ModuleTable(MemoryArtifact(files)))


def condition(session: Session, method: str) -> Condition:
    return read_predicate(session, ClassValue("vllm.rules", "Rule"), method).decisions[0].when


def answer(item: Condition, **settings: str | int) -> Tri:
    dotted: Settings = {name.replace("_", ".", 1): value for name, value in settings.items()}
    return evaluate(item, Context(SURFACE, ComputeCapability(12, 1), dotted, {}, {}))


def test_a_key_is_taken_apart_with_its_defaults(session: Session) -> None:
    found = {item.name: dict(item.parts) for item in read_quant_keys(session)}
    assert found["kSled"]["scale2.group_shape"] == "GroupShape(1, -1)"
    assert found["kSled"]["scale.group_shape.col"] == 16
    assert found["kSled"]["symmetric"] is True
    assert (found["kDog"]["scale2"], found["kDog"]["symmetric"]) == (None, False)


def test_parts_of_constants_are_compared_by_name(session: Session) -> None:
    assert condition(session, "same_scale") == Setting("key.scale", "==", "kGroup")
    shape = condition(session, "shape")
    assert shape == Setting("key.scale2.group_shape", "==", "GroupShape(1, -1)")


def test_a_test_of_what_the_outside_returns_names_the_function(session: Session) -> None:
    (found,) = leaves(condition(session, "store"))
    assert isinstance(found, Gate)
    assert found.name.startswith("call:has_store:requests.get(")
    assert found.name.endswith(".status_code == 200")


def test_two_settings_are_compared_where_both_are_known(session: Session) -> None:
    differ = condition(session, "sides")
    assert answer(differ, one_width=1, other_width=2) is Tri.YES
    assert answer(differ, one_width="a", other_width="a") is Tri.NO
    assert answer(differ, one_width=1) is Tri.UNKNOWN


def test_constants_of_other_packages_are_facts(session: Session) -> None:
    assert foreign_constants()["humming.config.GemmType.INDEXED.value"] == "indexed"
    assert answer(condition(session, "outside")) is Tri.YES


def test_what_is_not_understood_keeps_its_place(session: Session) -> None:
    (found,) = leaves(condition(session, "unread"))
    assert isinstance(found, Opaque)
    assert found.where
