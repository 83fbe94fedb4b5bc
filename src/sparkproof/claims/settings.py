"""Probes of options, environment variables, requirements and compiled members."""

from __future__ import annotations

from fnmatch import fnmatchcase

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from sparkproof.claims.material import in_package, told, untold
from sparkproof.core.claims import Told
from sparkproof.core.observations.release_surface import Option, Pin, ReleaseSurface
from sparkproof.facts.claim_probes import (
    EnvDeclared,
    LibraryPresent,
    OptionChoice,
    OptionDefault,
    OptionExists,
    PinAllows,
    PinIs,
    PinPresent,
)


def _option(surface: ReleaseSurface, flag: str) -> Option | Told | None:
    option = surface.option(flag)
    if option is not None:
        return option
    topic = f"option/{flag}"
    unknown = next((item for item in surface.unknowns if item.topic == topic), None)
    if unknown is not None:
        return untold(f"{unknown.where}: {unknown.why}")
    return None if surface.configs else untold("the options of this release were not all read")


def option_exists(surface: ReleaseSurface, probe: OptionExists) -> Told:
    """Whether there is such an option."""
    option = _option(surface, probe.flag)
    if isinstance(option, Told):
        return option
    places = () if option is None else (option.source.evidence(f"declares {probe.flag}"),)
    yes, no = f"{probe.flag} is an option", f"there is no {probe.flag}"
    return told(option is not None, probe.expect, yes, no, *places)


def option_choice(surface: ReleaseSurface, probe: OptionChoice) -> Told:
    """Whether it takes a value."""
    option = _option(surface, probe.flag)
    if isinstance(option, Told):
        return option
    if option is None:
        return told(False, probe.expect, "", f"there is no {probe.flag}")
    if not option.choices:
        return untold(f"{probe.flag} takes free text")
    place = option.source.evidence(f"values: {', '.join(option.choices)}")
    found = probe.value in option.choices
    if not (found or option.closed or probe.listed):
        return untold(f"{probe.flag} also takes values that are not listed")
    yes, no = f"{probe.flag} takes {probe.value}", f"{probe.flag} refuses {probe.value}"
    return told(found, probe.expect, yes, no, place)


def option_default(surface: ReleaseSurface, probe: OptionDefault) -> Told:
    """Whether that is its default."""
    option = _option(surface, probe.flag)
    if isinstance(option, Told):
        return option
    if option is None:
        return told(False, True, "", f"there is no {probe.flag}")
    same = option.default == probe.value and type(option.default) is type(probe.value)
    seen = f"{probe.flag} is {option.default!r} by default"
    return told(same, True, seen, seen, option.source.evidence(seen))


def env_declared(surface: ReleaseSurface, probe: EnvDeclared) -> Told:
    """Whether the release declares a variable."""
    if not surface.env_names:
        return untold("no table of environment variables was read")
    found = probe.name in surface.env_names
    yes, no = f"{probe.name} is declared", f"{probe.name} is not declared"
    return told(found, probe.expect, yes, no)


def _pins(surface: ReleaseSurface, project: str, extra: str) -> list[Pin]:
    return [
        pin
        for pin in surface.pins
        if pin.name == project and (pin.extra == extra if extra else pin.applies)
    ]


def _show(pins: list[Pin], project: str) -> str:
    return ", ".join(f"{pin.name}{pin.specifier}" for pin in pins) or f"{project}: no requirement"


def pin_present(surface: ReleaseSurface, probe: PinPresent) -> Told:
    """Whether the metadata asks for a project."""
    if not surface.pins:
        return untold("no METADATA was read")
    pins = _pins(surface, probe.project, probe.extra)
    shown = _show(pins, probe.project)
    places = [pin.source.evidence(shown) for pin in pins]
    return told(bool(pins), probe.expect, shown, shown, *places)


def pin_is(surface: ReleaseSurface, probe: PinIs) -> Told:
    """Whether its requirement is exactly that."""
    if not surface.pins:
        return untold("no METADATA was read")
    pins = _pins(surface, probe.project, probe.extra)
    shown = _show(pins, probe.project)
    wanted = SpecifierSet(probe.specifier)
    same = bool(pins) and all(SpecifierSet(pin.specifier) == wanted for pin in pins)
    places = [pin.source.evidence(shown) for pin in pins]
    return told(same, probe.expect, shown, shown, *places)


def pin_allows(surface: ReleaseSurface, probe: PinAllows) -> Told:
    """Whether a version may stand beside the release; without a requirement any may."""
    if not surface.pins:
        return untold("no METADATA was read")
    pins = _pins(surface, probe.project, "")
    shown = _show(pins, probe.project)
    version = Version(probe.version)
    allowed = all(SpecifierSet(pin.specifier).contains(version, prereleases=True) for pin in pins)
    places = [pin.source.evidence(shown) for pin in pins]
    yes, no = f"{shown} lets {version} in", f"{shown} keeps {version} out"
    return told(allowed, probe.expect, yes, no, *places)


def library_present(surface: ReleaseSurface, probe: LibraryPresent) -> Told:
    """Whether a compiled member matches."""
    if not surface.libraries:
        return untold("no compiled member was listed")
    found = [
        path for path in surface.libraries if fnmatchcase(in_package(surface, path), probe.pattern)
    ]
    return told(bool(found), probe.expect, ", ".join(found), f"no library {probe.pattern}")
