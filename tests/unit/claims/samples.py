"""Smallest surfaces and files that answer a probe one way or the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparkproof.claims import Material
from sparkproof.core.claims import Told
from sparkproof.core.condition import TRUE, DeviceTest, Tri
from sparkproof.core.delivery import FamilyRoute, Route
from sparkproof.core.observations.release_parts import (
    BatchTier,
    ConfigClass,
    ConfigField,
    ConfigRule,
    Endpoint,
    GraphRule,
    LiteralType,
    Message,
    Metric,
    ModelEntry,
    ParserEntry,
    RuleCase,
    Source,
)
from sparkproof.core.observations.release_surface import (
    CliName,
    Decision,
    Member,
    Option,
    Oracle,
    Pin,
    Predicate,
    ReleaseSurface,
)
from sparkproof.facts import claim_probes as probes
from sparkproof.testing.artifacts import MemoryArtifact

AT = Source("vllm-9.9.9.dist-info/METADATA", 7, "x")
OTHER = "something-else"


def surface(**parts: Any) -> ReleaseSurface:
    """A release that holds nothing but the parts named."""
    base = {"libraries": ("vllm/_C.abi3.so",), "configs": (ConfigClass("Other", (), AT),)}
    return ReleaseSurface(version="9.9.9", source=AT, **{**base, **parts})


def _oracle(probe: Any, **parts: Any) -> ReleaseSurface:
    return surface(oracles=(Oracle(id=probe.oracle, source=AT, flag="--backend", **parts),))


def _members(probe: probes.BackendInEnum, yes: bool) -> ReleaseSurface:
    return _oracle(probe, members=(Member(probe.backend if yes else OTHER, "", AT),))


def _listed(probe: probes.BackendInAuto, yes: bool) -> ReleaseSurface:
    return _oracle(probe, listed=(OTHER, *((probe.backend,) if yes else ())))


def _before(probe: probes.AutoBefore, yes: bool) -> ReleaseSurface:
    order = (probe.first, probe.second)
    return _oracle(probe, listed=order if yes else order[::-1])


def _order(probe: probes.AutoOrder, yes: bool) -> ReleaseSurface:
    return _oracle(probe, listed=probe.order if yes else (*probe.order, OTHER))


def _cli(probe: probes.CliValue, yes: bool) -> ReleaseSurface:
    return _oracle(probe, cli=(CliName(probe.value if yes else OTHER, ("X",), AT),))


def _device(probe: probes.DeviceRule, yes: bool) -> ReleaseSurface:
    taken = yes is (probe.expect == "accepts")
    here = DeviceTest("==", int(probe.capability.replace(".", "")))
    decisions = (Decision(here, taken, "no" * (not taken), AT), Decision(TRUE, not taken, "", AT))
    name = probe.method or "is_supported"
    return surface(predicates=(Predicate(probe.implementation, name, decisions, AT),))


def _options(probe: Any, yes: bool) -> ReleaseSurface:
    if isinstance(probe, probes.OptionExists):
        return surface(options=(Option(probe.flag if yes else "--other", (), None, AT),))
    if isinstance(probe, probes.OptionChoice):
        return surface(options=(Option(probe.flag, (probe.value if yes else OTHER,), None, AT),))
    default = probe.value if yes else OTHER
    return surface(options=(Option(probe.flag, (), default, AT),))


def _env(probe: probes.EnvDeclared, yes: bool) -> ReleaseSurface:
    return surface(env_names=(OTHER, *((probe.name,) if yes else ())))


def _pins(probe: Any, yes: bool) -> ReleaseSurface:
    extra = getattr(probe, "extra", "")
    specifier = ""
    if isinstance(probe, probes.PinIs):
        specifier = probe.specifier if yes else "==0.0.1"
    if isinstance(probe, probes.PinAllows):
        specifier = f"=={probe.version}" if yes else "==0.0.1"
    name = OTHER if isinstance(probe, probes.PinPresent) and not yes else probe.project
    return surface(pins=(Pin(name, specifier, not extra, AT, extra=extra),))


def _library(probe: probes.LibraryPresent, yes: bool) -> ReleaseSurface:
    return surface(libraries=(probe.pattern.replace("*", "x") if yes else "vllm/other.so",))


def _parser(probe: probes.ParserKnown, yes: bool) -> ReleaseSurface:
    return surface(parsers=(ParserEntry(probe.kind, probe.name if yes else OTHER, "m", "C", AT),))


def _model(probe: probes.ModelKnown, yes: bool) -> ReleaseSurface:
    kind = "text-generation" if yes else "removed"
    return surface(models=(ModelEntry(probe.architecture, kind, AT, note="0.9"),))


def _metric(probe: probes.MetricExported, yes: bool) -> ReleaseSurface:
    name = probe.name if yes else "vllm:other"
    return surface(metrics=(Metric(name, "counter", AT),))


def _endpoint(probe: probes.EndpointServed, yes: bool) -> ReleaseSurface:
    if probe.dev_only is None:
        return surface(endpoints=(Endpoint(probe.path if yes else "/other", ("get",), AT),))
    dev_mode = probe.dev_only is yes
    return surface(endpoints=(Endpoint(probe.path, ("get",), AT, dev_mode=dev_mode),))


def _message(probe: probes.LogLine, yes: bool) -> ReleaseSurface:
    text = f"well, {probe.fragment}!" if yes else "nothing of the kind"
    return surface(messages=(Message(text, "info", "vllm/x.py", 3),))


def _field(probe: probes.ConfigField, yes: bool) -> ReleaseSurface:
    default = probe.default
    if default is None:
        field = ConfigField(probe.field if yes else OTHER, "int", 4)
    else:
        field = ConfigField(probe.field, "int", 4, default=default if yes else OTHER)
    return surface(configs=(ConfigClass(probe.config, (field,), AT),))


def _literal(probe: probes.NamedValue, yes: bool) -> ReleaseSurface:
    return surface(literals=(LiteralType(probe.list, (probe.value if yes else OTHER,), (), AT),))


def _batch(probe: probes.BatchDefault, yes: bool) -> ReleaseSurface:
    tokens = probe.tokens if yes else 1
    return surface(batch_tiers=(BatchTier(TRUE, tokens, probe.sequences, 1, 1, AT),))


def _rule(probe: probes.RuleOutcome, yes: bool) -> ReleaseSurface:
    cases = (RuleCase(TRUE, probe.outcome if yes else OTHER),)
    return surface(rules=(ConfigRule(probe.rule, cases, AT),))


def _graph(probe: probes.GraphMode, yes: bool) -> ReleaseSurface:
    mode = probe.mode if yes else "NONE"
    cap = probe.cap if yes else "1"
    levels = (("O2", mode),)
    return surface(graphs=GraphRule(cap, (), (), levels, "O2", AT))


BY_KIND: dict[type, Callable[[Any, bool], ReleaseSurface]] = {
    probes.BackendInEnum: _members,
    probes.BackendInAuto: _listed,
    probes.AutoBefore: _before,
    probes.AutoOrder: _order,
    probes.CliValue: _cli,
    probes.DeviceRule: _device,
    probes.OptionExists: _options,
    probes.OptionChoice: _options,
    probes.OptionDefault: _options,
    probes.EnvDeclared: _env,
    probes.PinPresent: _pins,
    probes.PinIs: _pins,
    probes.PinAllows: _pins,
    probes.LibraryPresent: _library,
    probes.ParserKnown: _parser,
    probes.ModelKnown: _model,
    probes.MetricExported: _metric,
    probes.EndpointServed: _endpoint,
    probes.LogLine: _message,
    probes.ConfigField: _field,
    probes.NamedValue: _literal,
    probes.BatchDefault: _batch,
    probes.RuleOutcome: _rule,
    probes.GraphMode: _graph,
}


def material_for(probe: probes.Probe, as_claimed: bool) -> Material | None:
    """Material that gives the probe that answer; None where no small one can be made."""
    if isinstance(probe, probes.FamilyRoutes):
        other = next(route for route in Route if route not in probe.expect)
        route = probe.expect[0] if as_claimed else other
        return Material(routes={probe.family: FamilyRoute(probe.family, "", "", route, ())})
    yes = as_claimed is getattr(probe, "expect", True)
    if isinstance(probe, probes.ArchPresent):
        return Material(archs=frozenset({probe.pattern.replace("*", "a") if yes else "sm_80"}))
    if isinstance(probe, probes.FilePresent):
        return Material(artifact=_files(probe.pattern if yes else "other.py", ""))
    if isinstance(probe, probes.SourceText):
        return Material(artifact=_files(probe.members[0], probe.text if yes else "pass"))
    if isinstance(probe, probes.Pick):
        said = Told(Tri.of(as_claimed), "a walk")
        return Material(surface=surface(), pick=lambda _surface, _probe: said)
    make = BY_KIND.get(type(probe))
    if make is None:
        return None
    flag = as_claimed if isinstance(probe, probes.DeviceRule) else yes
    return Material(surface=make(probe, flag))


def _files(pattern: str, text: str) -> MemoryArtifact:
    return MemoryArtifact({pattern.replace("*", "x"): text.encode()})
