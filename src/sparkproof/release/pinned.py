"""Loaders that name one kernel for a scheme and ask no selection function."""

from __future__ import annotations

import ast

from sparkproof.core.observations.release_surface import Pinned
from sparkproof.core.unknown import Unknown
from sparkproof.facts.release_layout import PinnedLayout
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.symbolic.interpreter import Session


def read_pinned(session: Session, layout: PinnedLayout) -> Pinned | Unknown | None:
    """The kernel that a loader class names; None where there is no such class, or where it asks."""
    module_name, name = layout.place.split(":")
    module = session.table.get(module_name)
    if module is None or name not in module.bindings:
        return None
    statement = module.bindings[name][-1]
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    if any(dotted_name(node.func) in layout.asks for node in calls):
        return None
    for node in calls:
        called = dotted_name(node.func)
        if called in layout.marks:
            return Pinned(
                oracle=layout.oracle,
                scheme=layout.scheme,
                quant_method=layout.quant_method,
                implementation=layout.marks[called],
                source=module.source(node, name),
            )
    return Unknown(
        where=f"{module.path}:{name}",
        why="names no kernel that is known",
        topic=f"select/{layout.oracle}",
    )
