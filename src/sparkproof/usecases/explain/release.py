"""Pages of ``explain`` from the newest shipped surface: flags, variables, backends."""

from __future__ import annotations

from collections import defaultdict

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
from sparkproof.facts.surfaces import (
    Life,
    life_of,
    load_surface,
    say_life,
    shipped_history,
    shipped_surfaces,
)
from sparkproof.usecases.claims.rows import DEVICE
from sparkproof.usecases.explain.claims import FLAG

Rows = list[tuple[str, str]]
_MANY = 40


def release_pages(topic: str) -> list[Page]:
    """What the newest shipped release says of a flag, a variable or a backend.

    Of a flag or variable that is gone, the last release that had it is asked.
    """
    versions = list(shipped_surfaces())
    if not versions:
        return []
    surface = load_surface(versions[-1])
    pages = [*_option_pages(surface, topic), *_variable_pages(surface, topic)]
    rows = [row for oracle in surface.oracles for row in _backend_rows(surface, oracle, topic)]
    if rows:
        title = f"in vllm {surface.version}, asked for {find_device(DEVICE).capability}"
        pages.append(Page(topic, "backend", title, (), tuple(rows)))
    return pages


def value_pages(topic: str) -> list[Page]:
    """The flags that take a word, in the newest release or before it."""
    lives = shipped_history().get("options", {})
    wanted = topic.lower()
    found = {name: life for name, life in lives.items() if name.lower().endswith(f"={wanted}")}
    rows = tuple((name.replace("=", " ", 1), _life(life)) for name, life in found.items())
    return [Page(topic, "value of a flag", "", (), rows)] if rows else []


def _life(life: Life) -> str:
    """``since 0.24.0``, ``gone since 0.28.0``, or that it was there all along."""
    known = list(shipped_surfaces())
    return say_life(life) or f"in every release from {known[0]} to {known[-1]}"


def _gone(section: str, name: str) -> ReleaseSurface | None:
    """The last release that has something which the newest has not; None for any other."""
    life = life_of(section, name)
    newest = list(shipped_surfaces())[-1]
    return load_surface(life.last) if life is not None and life.last != newest else None


def _told(version: str, section: str, name: str) -> str:
    """Title of a page: the release that it is read in, or the one that took the thing away."""
    life = life_of(section, name)
    said = say_life(life)
    if said.startswith("gone"):
        return f"{said}; {version} is the last with it"
    return f"in vllm {version}" + (f", {_life(life)}" if life is not None else "")


def _option_pages(newest: ReleaseSurface, topic: str) -> list[Page]:
    flag = topic.lower()
    surface = newest if not flag.startswith("--") or newest.option(flag) else _gone("options", flag)
    option = surface.option(flag) if surface is not None and flag.startswith("--") else None
    return [_option_page(option, surface.version)] if surface is not None and option else []


def _variable_pages(newest: ReleaseSurface, topic: str) -> list[Page]:
    name = topic.upper()
    known = {item.name: item for item in newest.env}
    if name in known:
        return [_variable_page(known[name], newest.version)]
    before = _gone("env", name)
    if before is None:
        return []
    found = (item for item in before.env if item.name == name)
    return [_variable_page(item, before.version) for item in found]


def _place(source: Source) -> str:
    return f"{source.path}:{source.line}"


def _option_page(option: Option, version: str) -> Page:
    rows: Rows = [("default", option.computed or repr(option.default))]
    if option.choices:
        more = "" if option.closed else " and others"
        rows.append(("values", ", ".join(option.choices[:_MANY]) + more))
    else:
        rows.append(("takes", f"{option.value}, {option.arity}"))
    rows += _late_values(option)
    others = [name for name in option.names if name != option.flag]
    rows += [("also", ", ".join(others))] if others else []
    rows += [("deprecated", option.deprecated)] if option.deprecated else []
    rows.append(("declared", _place(option.source)))
    return Page(option.flag, FLAG, _told(version, "options", option.flag), (), tuple(rows))


def _late_values(option: Option) -> Rows:
    """Values that came later than their flag, newest first."""
    own = life_of("options", option.flag)
    late: defaultdict[str, list[str]] = defaultdict(list)
    for value in option.choices:
        life = life_of("options", f"{option.flag}={value}")
        if own is not None and life is not None and life.first != own.first:
            late[life.first].append(value)
    order = sorted(late, key=list(shipped_surfaces()).index, reverse=True)
    return [(f"since {first}", ", ".join(late[first])) for first in order]


def _variable_page(variable: EnvVariable, version: str) -> Page:
    rows: Rows = [("default", repr(variable.default))]
    rows += [("deprecated", variable.deprecated)] if variable.deprecated else []
    rows.append(("declared", _place(variable.source)))
    title = _told(version, "env", variable.name)
    return Page(variable.name, "environment variable", title, (), tuple(rows))


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
