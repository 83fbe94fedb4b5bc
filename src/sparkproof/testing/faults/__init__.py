"""The faults that the proxy knows, in one table. A new one is one class in a module below."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import msgspec

from sparkproof.core.errors import UsageError
from sparkproof.testing.faults import counts, line, server, words
from sparkproof.testing.faults.fault import Fault


def _named(module: ModuleType) -> Iterator[tuple[str, type[Fault]]]:
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, Fault) and found.name:
            yield found.name, found


FAULTS: dict[str, type[Fault]] = {
    name: fault for module in (words, line, server, counts) for name, fault in _named(module)
}


def parse_fault(text: str) -> Fault:
    """A fault from ``NAME[:VALUE][,FIELD=VALUE...]``; the bare value is the fault's main field.

    Raises:
        UsageError: no such fault or field, or a value out of range.
    """
    if not text.isprintable():
        raise UsageError(
            "a fault holds characters that no name and no value has", hint="--list shows all"
        )
    name, _, rest = text.partition(":")
    kind = FAULTS.get(name)
    if kind is None:
        raise UsageError(f"`{name[:60]}` is no fault", hint="one of " + ", ".join(FAULTS))
    values: dict[str, str] = {}
    for place, part in enumerate(rest.split(",") if rest else ()):
        field, equals, value = part.partition("=")
        if not equals and place:
            raise UsageError(f"`{part}` in `{text}` names no field", hint=_fields(kind))
        values[field if equals else kind.main] = value if equals else field
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        reason = str(error)
        raise UsageError(
            f"`{text}` is no fault: {reason[:1].lower()}{reason[1:]}", hint=_fields(kind)
        ) from error


def _fields(kind: type[Fault]) -> str:
    return f"`{kind.name}` takes " + ", ".join(kind.__struct_fields__)
