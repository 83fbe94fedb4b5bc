"""How a speculative method drafts: from which weights, and with which attention."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from sparkproof.facts.book import load_folder


class DraftWeights(StrEnum):
    """Where the drafter's weights come from."""

    OWN_HEAD = "own-head"
    MODEL = "model"
    NONE = "none"


class DraftMethod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Methods that draft alike.

    Attributes:
        methods: values of the speculative config's ``method``; `suffix` ends further ones.
        models: names that stand for the method where they are given as the ``model``.
        non_causal: its attention looks ahead too.
        inherits_attention: releases in which it follows the target's ``--attention-backend``
            unless it names its own; it chooses by itself in the others ("" for none).
    """

    id: str
    title: str
    methods: tuple[str, ...]
    weights: DraftWeights
    non_causal: bool
    source: str
    checked: date
    suffix: str = ""
    models: tuple[str, ...] = ()
    inherits_attention: str = ""

    def covers(self, method: str) -> bool:
        """Whether that value is one of its methods."""
        return method in self.methods or (bool(self.suffix) and method.endswith(self.suffix))


@cache
def _methods() -> tuple[DraftMethod, ...]:
    return load_folder("draft_methods", DraftMethod)


def find_draft_method(method: str, *, model: str = "") -> DraftMethod | None:
    """How that method drafts; None for one that nothing is known of.

    Args:
        method: as given, "" where it is left to vLLM.
        model: the drafter's own checkpoint, or the name of a method.
    """
    if not method:
        named = next((item for item in _methods() if model in item.models), None)
        if named is not None:
            return named
    wanted = method or "draft_model"
    return next((item for item in _methods() if item.covers(wanted)), None)
