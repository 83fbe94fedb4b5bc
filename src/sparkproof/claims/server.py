"""Probes of what a server offers and prints: parsers, models, metrics, endpoints, wording."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sparkproof.claims.material import told, untold
from sparkproof.core.claims import Told
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.facts.claim_probes import (
    ConfigField,
    EndpointServed,
    LogLine,
    MetricExported,
    ModelKnown,
    NamedValue,
    ParserKnown,
)

_COUNTER = "_total"
_SHOWN = 6


def parser(surface: ReleaseSurface, probe: ParserKnown) -> Told:
    """The registry of parsers."""
    known = [item for item in surface.parsers if item.kind == probe.kind]
    if not known:
        return untold(f"no registry of {probe.kind} parsers was read")
    found = next((item for item in known if item.name == probe.name), None)
    place = (found or known[0]).source.evidence(f"{len(known)} {probe.kind} parsers")
    yes = f"{probe.name} is a {probe.kind} parser"
    return told(
        found is not None, probe.expect, yes, f"there is no {probe.kind} parser {probe.name}", place
    )


def model(surface: ReleaseSurface, probe: ModelKnown) -> Told:
    """The registry of architectures."""
    if not surface.models:
        return untold("no registry of models was read")
    gone = ("removed", "plugin")
    named = [item for item in surface.models if item.architecture == probe.architecture]
    found = next((item for item in named if item.kind not in gone), None)
    place = (found or surface.models[0]).source.evidence(f"{len(surface.models)} architectures")
    yes = f"{probe.architecture} is known ({found.kind if found else ''})"
    note = f" any more: {named[0].note}" if named else ""
    no = f"{probe.architecture} is not known{note}"
    return told(found is not None, probe.expect, yes, no, place)


def metric(surface: ReleaseSurface, probe: MetricExported) -> Told:
    """Metrics; a counter is also known by the name that it is exposed under."""
    if not surface.metrics:
        return untold("no metrics were read")
    wanted = probe.name.removesuffix(_COUNTER)
    found = next((i for i in surface.metrics if i.name.removesuffix(_COUNTER) == wanted), None)
    places = (found.source.evidence(f"{found.kind} {found.name}"),) if found else ()
    yes, no = f"{probe.name} is exported", f"{probe.name} is not exported"
    return told(found is not None, probe.expect, yes, no, *places)


def endpoint(surface: ReleaseSurface, probe: EndpointServed) -> Told:
    """Routes, and whether development mode has to be on for one."""
    if not surface.endpoints:
        return untold("no endpoints were read")
    found = [item for item in surface.endpoints if item.path == probe.path]
    places = [item.source.evidence(f"route {item.path}") for item in found[:1]]
    no = f"{probe.path} is not served"
    if not found or probe.dev_only is None:
        return told(bool(found), probe.expect, f"{probe.path} is served", no, *places)
    dev_only = all(item.dev_mode for item in found)
    word = "in development mode only" if dev_only else "always"
    seen = f"{probe.path} is served {word}"
    return told(dev_only is probe.dev_only, probe.expect, seen, seen, *places)


def log_line(surface: ReleaseSurface, probe: LogLine) -> Told:
    """Wordings of log calls and errors."""
    if not surface.messages:
        return untold("no wording was read")
    wanted = " ".join(probe.fragment.split())
    found = next((m for m in surface.messages if wanted in " ".join(m.text.split())), None)
    if found is None:
        return told(False, probe.expect, "", f"nothing prints `{wanted}`")
    from_source = f"{found.level} `{found.text[:160]}`"
    return told(True, probe.expect, from_source, "", _place(found.path, found.line, found.text))


def _place(path: str, line: int, text: str) -> Evidence:
    return Evidence(where=path, what=text[:160], line=line)


def config_field(surface: ReleaseSurface, probe: ConfigField) -> Told:
    """Fields of a configuration class, and their defaults."""
    owner = surface.config(probe.config)
    if owner is None:
        return untold(f"no configuration class {probe.config} was read")
    found = owner.field(probe.field)
    place = owner.source.evidence(f"{probe.config} has {len(owner.fields)} fields")
    name = f"{probe.config}.{probe.field}"
    if found is None or probe.default is None:
        return told(
            found is not None, probe.expect, f"{name} is a field", f"there is no {name}", place
        )
    place = Evidence(where=owner.source.path, what=f"{probe.field}: {found.type}", line=found.line)
    if found.computed:
        return untold(f"{name} is computed: {found.computed}")
    same = found.default == probe.default and type(found.default) is type(probe.default)
    seen = f"{name} is {found.default!r} by default"
    return told(same, probe.expect, seen, seen, place)


def named_value(surface: ReleaseSurface, probe: NamedValue) -> Told:
    """Values of a named list, those of the lists that it contains included."""
    found = surface.literal(probe.list)
    if found is None:
        return untold(f"no list {probe.list} was read")
    has = any(fnmatchcase(value, probe.value) for value in found.values)
    place = found.source.evidence(f"{len(found.values)} values")
    yes = f"{probe.list} has {probe.value}"
    no = f"{probe.list} has no {probe.value}: {', '.join(found.values[:_SHOWN])} …"
    return told(has, probe.expect, yes, no, place)
