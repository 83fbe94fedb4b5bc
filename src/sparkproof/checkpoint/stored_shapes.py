"""Stored matrices beside the width of the model: the declaration can't be right of another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkproof.checkpoint.held import Held
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import LayerClass, Note
from sparkproof.facts.tensor_leaves import leaf_book

_CHECKED = frozenset(
    {
        LayerClass.ATTENTION,
        LayerClass.LINEAR_ATTENTION,
        LayerClass.MLP,
        LayerClass.SHARED_EXPERT,
    }
)
"""Experts may work on a vector of their own width, draft layers on two joined ones."""
_WORDS = "I32"
_SHOWN = 2


def shape_notes(held: Sequence[Held], hidden: int) -> Iterable[Note]:
    """Matrices that do not take, or do not give, a vector of the model's width.

    Args:
        held: units of a family that is in the book.
        hidden: the declared width, 0 where it is not known.
    """
    groups: dict[LayerClass, list[Held]] = {}
    for item in held if hidden else ():
        if item.module.layer_class in _CHECKED and not _fits(item, hidden):
            groups.setdefault(item.module.layer_class, []).append(item)
    for layer_class, group in groups.items():
        more = f", and {len(group) - 1} more like it" if len(group) > 1 else ""
        what = f"{group[0].unit.module} is {_width(group[0])} wide and hidden_size {hidden}{more}"
        evidence = tuple(Evidence(i.unit.module, i.stored.layout) for i in group[:_SHOWN])
        yield Note("shape-differs", what, layer_class, evidence)


def _fits(item: Held, hidden: int) -> bool:
    """Whether it may be right; several numbers of one byte lie along either side."""
    side = _side(item)
    return side in (0, hidden) or side * item.stored.values_per_element == hidden


def _width(item: Held) -> int:
    leaf = item.unit.module.rpartition(".")[2]
    packed = leaf in leaf_book().takes_hidden
    return _side(item) * (item.stored.values_per_element if packed else 1)


def _side(item: Held) -> int:
    """The stored side that meets the model's own vector; 0 where name or packing does not tell."""
    weight = item.unit.weight
    if weight is None or len(weight.shape) != 2 or weight.dtype == _WORDS:
        return 0
    leaf = item.unit.module.rpartition(".")[2]
    book = leaf_book()
    if leaf in book.takes_hidden:
        return weight.shape[1]
    return weight.shape[0] if leaf in book.gives_hidden else 0
