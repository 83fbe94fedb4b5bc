"""Pages of ``explain`` from the newest shipped surface: flags, variables, backends."""

from __future__ import annotations

from sparkproof.claims.oracles import device_rule
from sparkproof.core.condition import Tri
from sparkproof.core.observations.release_surface import (
    EnvVariable,
    Option,
    Oracle,
    ReleaseSurface,
    Source,
)
from sparkproof.core.results.explain import Page
from sparkproof.facts.book import find_device
from sparkproof.facts.claim_probes import DeviceRule
from sparkproof.facts.surfaces import load_surface, shipped_surfaces
from sparkproof.usecases.claim_rows import DEVICE

Rows = list[tuple[str, str]]
_MANY = 40


def release_pages(topic: str) -> list[Page]:
    """What the newest shipped release says of a flag, a variable or a backend."""
    versions = list(shipped_surfaces())
    if not versions:
        return []
    surface = load_surface(versions[-1])
    pages = []
    option = surface.option(topic.lower()) if topic.startswith("--") else None
    if option is not None:
        pages.append(_option_page(option, surface.version))
    variable = next((item for item in surface.env if item.name == topic.upper()), None)
    if variable is not None:
        pages.append(_variable_page(variable, surface.version))
    rows = [row for oracle in surface.oracles for row in _backend_rows(surface, oracle, topic)]
    if rows:
        title = f"in vllm {surface.version}, asked for {find_device(DEVICE).capability}"
        pages.append(Page(topic, "backend", title, (), tuple(rows)))
    return pages


def _place(source: Source) -> str:
    return f"{source.path}:{source.line}"


def _option_page(option: Option, version: str) -> Page:
    rows: Rows = [("default", option.computed or repr(option.default))]
    if option.choices:
        more = "" if option.closed else " and others"
        rows.append(("values", ", ".join(option.choices[:_MANY]) + more))
    else:
        rows.append(("takes", f"{option.value}, {option.arity}"))
    others = [name for name in option.names if name != option.flag]
    rows += [("also", ", ".join(others))] if others else []
    rows += [("deprecated", option.deprecated)] if option.deprecated else []
    rows.append(("declared", _place(option.source)))
    return Page(option.flag, "flag of vllm serve", f"in vllm {version}", (), tuple(rows))


def _variable_page(variable: EnvVariable, version: str) -> Page:
    rows: Rows = [("default", repr(variable.default))]
    rows += [("deprecated", variable.deprecated)] if variable.deprecated else []
    rows.append(("declared", _place(variable.source)))
    return Page(variable.name, "environment variable", f"in vllm {version}", (), tuple(rows))


def _backend_rows(surface: ReleaseSurface, oracle: Oracle, topic: str) -> Rows:
    """Four answers: a member, named by a flag, considered by itself, taken by the device rule."""
    wanted = topic.lower()
    classes = {
        name
        for item in oracle.dispatch
        if item.backend.lower() == wanted
        for name in item.implementations
    }
    names = {item.name for item in oracle.members} | set(oracle.listed)
    known = next((name for name in names if name.lower() == wanted), "")
    if not known:
        return []
    rows: Rows = [(oracle.id, _place(oracle.source))]
    rows.append(("  exists", "yes" if known else "no"))
    values = [item.name for item in oracle.cli if known in item.targets]
    flag = f"{oracle.flag} {' or '.join(values)}" if values else f"{oracle.flag} does not name it"
    rows.append(("  by flag", flag))
    rows.append(("  by itself", _rank(oracle, known)))
    for name in sorted(classes or {known}):
        rows.append(("  device", _device(surface, name)))
    return rows


def _rank(oracle: Oracle, name: str) -> str:
    if not oracle.listed:
        return "its list could not be read"
    if name not in oracle.listed:
        return "never considered"
    return f"number {oracle.listed.index(name) + 1} of {len(oracle.listed)}"


def _device(surface: ReleaseSurface, implementation: str) -> str:
    capability = str(find_device(DEVICE).capability)
    told = device_rule(surface, DeviceRule(implementation=implementation, capability=capability))
    return told.seen if told.as_claimed is not Tri.UNKNOWN else f"untold: {told.seen}"
