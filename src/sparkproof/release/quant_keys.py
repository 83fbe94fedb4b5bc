"""The constants by which a release names quantization schemes, taken apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sparkproof.core.condition import Scalar
from sparkproof.core.observations.release_surface import QuantKey
from sparkproof.facts.release_layout import load_release_layout
from sparkproof.formats.python_source import dotted_name
from sparkproof.release.symbolic.interpreter import Run, Session
from sparkproof.release.symbolic.lookup import attribute
from sparkproof.release.symbolic.trace import Trace
from sparkproof.release.symbolic.values import Instance, Named, Unread, Value, scalar_of

_FIELDS = ("dtype", "symmetric", "scale", "scale2")
_SCALE_FIELDS = ("dtype", "static", "group_shape")
_SHAPE_FIELDS = ("row", "col")
_TRACED = ("scale", "scale2")


def read_quant_keys(session: Session) -> tuple[QuantKey, ...]:
    """Every constant of the release's class of keys; none where the module is another.

    Raises:
        FormatError: a constant is made in a way that is not followed.
    """
    place = load_release_layout().quant_keys
    module_name, _, kind = place.partition(":")
    module = session.table.get(module_name)
    run = Run(session, Trace([]))
    found: list[QuantKey] = []
    for name, statements in module.bindings.items() if module is not None else ():
        value = getattr(statements[-1], "value", None)
        if isinstance(value, ast.Call) and dotted_name(value.func) == kind:
            parts = tuple(_parts(run, Named(name, module_name)))
            found.append(QuantKey(name, parts))
    return tuple(found)


def _parts(run: Run, key: Named) -> Iterator[tuple[str, Scalar]]:
    for field in _FIELDS:
        value = _part(run, key, field)
        yield from _told(field, value)
        if field in _TRACED and isinstance(value, Named):
            for inner in _SCALE_FIELDS:
                yield from _told(f"{field}.{inner}", _part(run, value, inner))


def _part(run: Run, owner: Named, field: str) -> Value:
    module = run.table.get(owner.module)
    if module is None:
        return Unread(f"{owner.name}.{field}")
    return attribute(owner, field, run.frame(module))


def _told(path: str, value: Value) -> Iterator[tuple[str, Scalar]]:
    known, scalar = scalar_of(value)
    if known:
        yield path, scalar
    if isinstance(value, Instance) and len(value.arguments) == len(_SHAPE_FIELDS):
        for name, number in zip(_SHAPE_FIELDS, value.arguments, strict=True):
            yield f"{path}.{name}", number
