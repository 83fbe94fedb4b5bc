"""Which layers of a class share a format, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.checkpoint.layout import PROBED_LAYERS, Module

_SHOWN_RANGES = 4
_SHOWN_NAMES = 6


def say_layers(members: Sequence[Module], of_class: Sequence[Module], *, counted: bool) -> str:
    """Tell `members` apart from the rest of their class; "" when they are all of it.

    Args:
        members: modules of one format.
        of_class: every module of the same class.
        counted: the number of layers is known, so that the last one is a real end.
    """
    if len(members) == len(of_class):
        return ""
    layers, parts = _axes(members)
    all_layers, all_parts = _axes(of_class)
    words = []
    if parts != all_parts:
        words.append(_listed(parts))
    if layers != all_layers:
        words.append(_ranges(layers, all_layers, counted=counted))
    if not words or len(members) != _product(of_class, layers, parts):
        return f"{len(members)} of {len(of_class)} modules, {members[0].name} the first"
    return " of ".join(words)


def _axes(modules: Iterable[Module]) -> tuple[frozenset[int], frozenset[str]]:
    found = [(module.layer, module.projection) for module in modules]
    return frozenset(layer for layer, _ in found), frozenset(part for _, part in found)


def _product(of_class: Sequence[Module], layers: frozenset[int], parts: frozenset[str]) -> int:
    return sum(m.layer in layers and m.projection in parts for m in of_class)


def _listed(parts: frozenset[str]) -> str:
    names = sorted(parts)
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def _ranges(layers: frozenset[int], among: frozenset[int], *, counted: bool) -> str:
    """``layers 0-55``; runs are counted among the layers that the class has."""
    runs: list[tuple[int, int]] = []
    inside = False
    for layer in sorted(among):
        if layer not in layers:
            inside = False
        elif inside:
            runs[-1] = (runs[-1][0], layer)
        else:
            runs.append((layer, layer))
            inside = True
    words = [f"{low}-{high}" if high > low else str(low) for low, high in runs]
    if not counted and runs and runs[-1][1] == PROBED_LAYERS - 1:
        words[-1] = f"{runs[-1][0]} and up"
    if len(words) > _SHOWN_RANGES:
        words = [*words[:_SHOWN_RANGES], f"… ({len(layers)} layers)"]
    return ("layer " if len(layers) == 1 else "layers ") + ", ".join(words)
