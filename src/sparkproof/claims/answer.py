"""Put a probe to what was seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparkproof.claims import defaults, files, history, oracles, server, settings
from sparkproof.claims.material import Material, untold
from sparkproof.core.claims import Told
from sparkproof.core.condition import Tri
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.facts import claim_probes as probes
from sparkproof.facts.claim import Claim

_NO_SURFACE = "the release's Python source was not read"

_FROM_SURFACE: dict[type, Callable[[ReleaseSurface, Any], Told]] = {
    probes.BackendInEnum: oracles.backend_in_enum,
    probes.BackendInAuto: oracles.backend_in_auto,
    probes.AutoBefore: oracles.auto_before,
    probes.AutoOrder: oracles.auto_order,
    probes.CliValue: oracles.cli_value,
    probes.DeviceRule: oracles.device_rule,
    probes.OptionExists: settings.option_exists,
    probes.OptionChoice: settings.option_choice,
    probes.OptionDefault: settings.option_default,
    probes.EnvDeclared: settings.env_declared,
    probes.PinPresent: settings.pin_present,
    probes.PinIs: settings.pin_is,
    probes.PinAllows: settings.pin_allows,
    probes.LibraryPresent: settings.library_present,
    probes.ParserKnown: server.parser,
    probes.ModelKnown: server.model,
    probes.MetricExported: server.metric,
    probes.EndpointServed: server.endpoint,
    probes.LogLine: server.log_line,
    probes.ConfigField: server.config_field,
    probes.NamedValue: server.named_value,
    probes.BatchDefault: defaults.batch_default,
    probes.RuleOutcome: defaults.rule_outcome,
    probes.GraphMode: defaults.graph_mode,
}
_FROM_MATERIAL: dict[type, Callable[[Material, Any], Told]] = {
    probes.FamilyRoutes: files.family_route,
    probes.ArchPresent: files.arch_present,
    probes.FilePresent: files.file_present,
    probes.SourceText: files.source_text,
    probes.PullRequests: history.pull_requests,
}


def answer_claim(claim: Claim, material: Material) -> Told:
    """What an artifact says of a claim."""
    version = material.surface.version if material.surface is not None else ""
    if claim.only and version and not claim.speaks_of(version):
        return untold(f"it speaks of releases {claim.only}")
    return answer_probe(claim.probe, material)


def answer_probe(probe: probes.Probe, material: Material) -> Told:
    """The outcome of one probe; whatever could not be examined leaves it open."""
    if isinstance(probe, probes.Needs):
        return untold(f"needs a {probe.what}: {probe.how}")
    if isinstance(probe, probes.AllOf | probes.AnyOf):
        return _composed(probe, material)
    kind = type(probe)
    if kind in _FROM_MATERIAL:
        return _FROM_MATERIAL[kind](material, probe)
    if material.surface is None:
        return untold(_NO_SURFACE)
    if isinstance(probe, probes.Pick):
        if material.pick is None:
            return untold("nobody walks the selection here")
        if not material.surface.libraries:
            return untold("source only: what a build of it compiles and vendors is not in it")
        return material.pick(material.surface, probe)
    return _FROM_SURFACE[kind](material.surface, probe)


def _composed(probe: probes.AllOf | probes.AnyOf, material: Material) -> Told:
    told = [answer_probe(part, material) for part in probe.probes]
    decisive = Tri.NO if isinstance(probe, probes.AllOf) else Tri.YES
    answers = {item.as_claimed for item in told}
    if decisive in answers:
        result = decisive
    else:
        result = Tri.UNKNOWN if Tri.UNKNOWN in answers else decisive.negated()
    shown = [item for item in told if item.as_claimed is result] or told
    places = tuple(place for item in shown for place in item.evidence)
    return Told(result, "; ".join(item.seen for item in shown), places)
