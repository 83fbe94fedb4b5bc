"""Is it the server that was meant: version, names, metrics."""

from __future__ import annotations

import re

from sparkproof.core.finding import Finding
from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.server_port import Failure
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.facts.server_engines import other_engine
from sparkproof.formats.openai_answer import error_message
from sparkproof.formats.vllm_metrics import missing_names
from sparkproof.gates.pages import make_finding

_UNSTAMPED = re.compile(r"0\.0\.|0\.1\.dev|dev0\b|unknown", re.IGNORECASE)
_NOT_FOUND = 404
_SAID = 160
_LOCAL = re.compile(r"\+.*\Z")
Judged = tuple[tuple[Criterion, ...], tuple[Finding, ...]]


def engine_of(snapshot: ServerSnapshot) -> str:
    """Which other engine answers in place of vLLM; "" for vLLM and for what does not tell."""
    if snapshot.version:
        return ""
    return next((name for m in snapshot.models if (name := other_engine(m.owned_by))), "")


def judge_engine(snapshot: ServerSnapshot) -> tuple[Criterion, Finding] | None:
    """The one finding where it is another engine: none of our questions fits it."""
    if not (engine := engine_of(snapshot)):
        return None
    message = f"this is {engine}, not vLLM"
    seen = f"owned_by {snapshot.models[0].owned_by}"
    where = f"{snapshot.address}/v1/models"
    finding = make_finding("smoke/other-engine", message, where=where, what=seen)
    return Criterion("smoke/version", Verdict.FAIL, message), finding


def judge_server(result: SmokeResult) -> Judged:
    """Version, names and metrics."""
    parts = [_version(result), _names(result), _metrics(result)]
    return (
        tuple(criterion for criterion, _ in parts),
        tuple(finding for _, findings in parts for finding in findings),
    )


def _version(result: SmokeResult) -> tuple[Criterion, tuple[Finding, ...]]:
    name, version = "smoke/version", result.snapshot.version
    wanted = result.expected.version
    where = f"{result.snapshot.address}/version"
    if not version:
        finding = make_finding("smoke/not-vllm", where=where, what="no version in the answer")
        return Criterion(name, Verdict.INCONCLUSIVE, finding.message), (finding,)
    if _UNSTAMPED.match(version):
        finding = make_finding("smoke/version-unstamped", where=where, what=version)
        return Criterion(name, Verdict.FAIL, f"{version}: {finding.message}"), (finding,)
    if wanted and _LOCAL.sub("", version) != _LOCAL.sub("", wanted):
        source = result.expected.version_from or "the deployment"
        message = f"the server says {version}, {source} says {wanted}"
        finding = make_finding("smoke/version-differs", message, where=where, what=version)
        return Criterion(name, Verdict.FAIL, message), (finding,)
    told = (
        f", as {result.expected.version_from or 'expected'}"
        if wanted
        else ", compared with nothing"
    )
    return Criterion(name, Verdict.PASS, f"vLLM {version}{told}"), ()


def _names(result: SmokeResult) -> tuple[Criterion, tuple[Finding, ...]]:
    name = "smoke/names"
    served = [model.name for model in result.snapshot.models]
    absent = [wanted for wanted in result.expected.names if wanted not in served]
    findings = [
        make_finding(
            "smoke/name-not-served",
            f"`{wanted}` is not served; /v1/models lists {', '.join(served) or 'nothing'}",
            where=f"{result.snapshot.address}/v1/models",
            what=", ".join(served),
        )
        for wanted in absent
    ]
    findings += [
        finding
        for exchange in result.exchanges
        if exchange.label.startswith(("alias/", "gateway/")) and not exchange.ok
        for finding in (_unreachable(exchange, result),)
    ]
    tried = sum(e.label.startswith(("alias/", "gateway/")) for e in result.exchanges)
    if findings:
        return Criterion(name, Verdict.FAIL, findings[0].message), tuple(findings)
    if not served:
        return Criterion(name, Verdict.INCONCLUSIVE, "/v1/models lists nothing"), ()
    reach = f", {tried} reached" if tried else ""
    return Criterion(name, Verdict.PASS, f"{', '.join(served)}{reach}"), ()


def _unreachable(exchange: Exchange, result: SmokeResult) -> Finding:
    kind, _, name = exchange.label.partition("/")
    through = f" through {result.gateway}" if kind == "gateway" else ""
    says = failure_words(exchange)
    rule = "smoke/gateway-name" if kind == "gateway" else "smoke/name-not-served"
    if exchange.status != _NOT_FOUND:
        rule = "smoke/no-answer"
    return make_finding(
        rule, f"`{name}` does not answer{through}: {says}", where=exchange.path, what=says
    )


def _metrics(result: SmokeResult) -> tuple[Criterion, tuple[Finding, ...]]:
    name, counts = "smoke/metrics", result.snapshot.counts
    if counts is None:
        why = next((u.why for u in result.snapshot.unknowns if u.topic == "metrics"), "no /metrics")
        return Criterion(name, Verdict.INCONCLUSIVE, why), ()
    missing = missing_names(counts)
    if not missing:
        return Criterion(name, Verdict.PASS, "every name that the gates read is there"), ()
    message = f"{len(missing)} names are not there: {', '.join(missing[:3])}"
    finding = make_finding(
        "smoke/metric-missing", message, where="/metrics", what=", ".join(missing)
    )
    return Criterion(name, Verdict.PASS, message, warning=True), (finding,)


def failure_words(exchange: Exchange) -> str:
    """Why an exchange is not ok, in a few words."""
    if exchange.failure is not Failure.NONE:
        return exchange.detail or exchange.failure.value
    if exchange.stream and exchange.stream.error:
        return exchange.stream.error[:_SAID]
    if exchange.error:
        return f"{exchange.status} with an error in it: {exchange.error[:_SAID]}"
    said = error_message(exchange.body.encode("utf-8", "replace"))
    return f"{exchange.status} {' '.join(said.split())[:_SAID]}"
