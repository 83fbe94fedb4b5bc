"""From the branches of a proof to findings, criteria, a summary and next steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkproof.core.deployment import Box
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.prediction import Outcome
from sparkproof.core.results.proof import Branch, Delivery, LayerProof
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.facts.backend import Means, Speed
from sparkproof.facts.sampler import sampler
from sparkproof.usecases.prove_branch import TOOLS, Look

_DENSE_ORACLES = "dense/"
_MOE_ORACLES = "moe/"
_BACKEND_FLAGS = {"--moe-backend": _MOE_ORACLES, "--linear-backend": _DENSE_ORACLES}


def criteria_of(branches: Sequence[Branch]) -> tuple[Criterion, ...]:
    """One criterion a layer class and branch; the verdict is their fold."""
    return tuple(
        Criterion(
            name=criterion_name(layer, branch),
            verdict=layer.verdict,
            reason=layer.reason,
            warning=layer.warning,
        )
        for branch in branches
        for layer in branch.layers
    )


def criterion_name(layer: LayerProof, branch: Branch) -> str:
    """``deliver/experts``, with layers and assumptions where there are some."""
    parts = [layer.layers] if layer.layers else []
    parts += [f"{name}={answer}" for name, answer in branch.assumptions.items()]
    return f"deliver/{layer.subject}" + (f" ({', '.join(parts)})" if parts else "")


def find_in_branches(branches: Sequence[Branch], arguments: SelectionArgs) -> tuple[Finding, ...]:
    """Findings of all branches; one that several layer classes share is told once."""
    found = [
        finding
        for branch in branches
        for layer in branch.layers
        for finding in _layer(layer, branch)
    ]
    found += _half_forced(branches, arguments)
    if len(branches) > 1:
        found.append(_undecided(branches))
    return tuple(_merged(found))


def find_sampler(branches: Sequence[Branch], box: Box, look: Look) -> tuple[Finding, ...]:
    """The default sampler where no compiler is there for it."""
    used = sampler().used(look.surface.version, look.env)
    missing = [tool for tool in TOOLS if _stated(tool, branches, box) is False]
    if not used or not missing:
        return ()
    message = (
        f"{sampler().provider} compiles the default sampler at first use, and "
        f"{' and '.join(missing)} may be missing"
    )
    return (
        Finding(
            rule="deliver/sampler-needs-compiler",
            severity=Severity.WARNING,
            confidence=Confidence.INFERRED,
            message=message,
            subject="sampler",
            evidence=(Evidence("v1/sample/ops/topk_topp_sampler.py", sampler().source),),
            remedy=f"set {sampler().variable}=0, or put nvcc and ninja into the image",
        ),
    )


def _stated(tool: str, branches: Sequence[Branch], box: Box) -> bool | None:
    """False where the tool is missing in the box or in one of the branches."""
    if any(branch.assumptions.get(f"tool:{tool}") == "no" for branch in branches):
        return False
    stated: bool | None = getattr(box, tool)
    return stated


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings that differ in their subject alone, as one that names all subjects."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.message), []).append(finding)
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    ordered = sorted(groups.values(), key=lambda group: rank[group[0].severity])
    for group in ordered:
        subjects = ", ".join(dict.fromkeys(item.subject for item in group))
        first = group[0]
        yield Finding(
            rule=first.rule,
            severity=first.severity,
            confidence=first.confidence,
            message=first.message,
            subject=subjects,
            evidence=tuple(dict.fromkeys(e for item in group for e in item.evidence)),
            remedy=first.remedy,
            facts=first.facts,
        )


def _layer(layer: LayerProof, branch: Branch) -> Iterator[Finding]:
    prediction = layer.prediction
    if prediction is not None and prediction.error:
        flagged = prediction.error.startswith(("argument ", "this release has no"))
        rule = "select/flag-not-accepted" if flagged else "select/nothing-left"
        yield _finding(rule, Severity.ERROR, layer, prediction.error, prediction.evidence)
    elif layer.verdict is Verdict.INCONCLUSIVE and not layer.deliveries:
        yield _finding("deliver/not-examined", Severity.WARNING, layer, layer.reason, ())
    if layer.speed == Speed.EMULATION.value:
        yield _finding("select/emulation", Severity.WARNING, layer, f"runs on {layer.backend}", ())
    for delivery in layer.deliveries:
        yield from _delivery(layer, delivery, branch)


def _delivery(layer: LayerProof, item: Delivery, branch: Branch) -> Iterator[Finding]:
    told = f"{item.what}: {item.reason}"
    if item.verdict is Verdict.FAIL and item.means == Means.NVCC.value:
        yield _finding("deliver/no-compiler", Severity.ERROR, layer, told, item.evidence)
    elif item.verdict is Verdict.FAIL and item.route == "dead-code":
        yield _finding("deliver/dead-code", Severity.ERROR, layer, told, item.evidence)
    elif item.verdict is Verdict.FAIL:
        message = f"{told} ({item.name}); {_CRASH}"
        yield _finding("deliver/no-kernel-image", Severity.ERROR, layer, message, item.evidence)
    elif item.verdict is Verdict.INCONCLUSIVE:
        yield _finding("deliver/not-examined", Severity.WARNING, layer, told, item.evidence)
    elif item.warning and item.means == Means.NVCC.value:
        when = "" if not branch.assumptions else _when(branch)
        message = f"{item.reason}{when}"
        yield _finding("deliver/compiled-at-first-use", Severity.WARNING, layer, message, ())
    elif item.warning:
        message = f"{item.name} comes as {item.reason}"
        yield _finding("deliver/ptx-jit", Severity.WARNING, layer, message, item.evidence)


_CRASH = "launching it ends in `no kernel image is available` or CUTLASS `Error Internal`"

_REMEDIES = {
    "deliver/no-kernel-image": "take a wheel or image of the CUDA 13 line, or force a backend"
    " that is delivered",
    "deliver/no-compiler": "put nvcc and ninja into the image, or force a delivered backend",
    "deliver/ptx-jit": "keep the driver's compute cache (CUDA_CACHE_PATH) on a volume",
    "deliver/compiled-at-first-use": "warm up before traffic and cap the compile jobs: MAX_JOBS=2",
}


def _finding(
    rule: str,
    severity: Severity,
    layer: LayerProof,
    message: str,
    evidence: Sequence[Evidence],
) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        confidence=layer.prediction.confidence if layer.prediction else Confidence.SHOWN,
        message=message,
        subject=layer.subject,
        evidence=tuple(evidence),
        remedy=_REMEDIES.get(rule, ""),
    )


def _when(branch: Branch) -> str:
    told = " and ".join(f"{k.partition(':')[2] or k}" for k in branch.assumptions)
    answers = set(branch.assumptions.values())
    word = "is there" if len(branch.assumptions) == 1 else "are there"
    return f" if {told} {word}" if answers == {"yes"} else f" without {told}"


def _half_forced(branches: Sequence[Branch], arguments: SelectionArgs) -> list[Finding]:
    """One of the two backend flags given, while the other oracle picks on its own."""
    values = {
        "--moe-backend": arguments.moe_backend,
        "--linear-backend": arguments.linear_backend,
    }
    forced = {flag for flag, value in values.items() if value.lower() != "auto"}
    if len(forced) != 1:
        return []
    (flag,) = forced
    (other,) = set(values) - forced
    left = [
        layer
        for layer in branches[0].layers
        if layer.prediction and layer.prediction.oracle.startswith(_BACKEND_FLAGS[other])
    ]
    if not left:
        return []
    selected = (layer.prediction.selected for layer in left if layer.prediction)
    picks = ", ".join(dict.fromkeys(name or "nothing" for name in selected))
    return [
        Finding(
            rule="select/half-forced",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=f"{flag} {values[flag]} does not reach these layers, which go to {picks}",
            subject=", ".join(dict.fromkeys(layer.subject for layer in left)),
            remedy=f"give {other} too, or neither",
        )
    ]


def _undecided(branches: Sequence[Branch]) -> Finding:
    gates = dict.fromkeys(name for branch in branches for name in branch.assumptions)
    told = ", ".join(name.partition(":")[2] or name for name in gates)
    return Finding(
        rule="select/undecided",
        severity=Severity.WARNING,
        confidence=Confidence.SHOWN,
        message=f"not stated whether the box has {told}: both ways are judged, the worse counts",
        remedy="state it in [box] of the deployment, or with --nvcc/--no-nvcc, --ninja/--no-ninja",
    )


def summarize(branches: Sequence[Branch]) -> str:
    """The verdict's one line: what each quantized class runs on."""
    told: list[str] = []
    for branch in branches:
        picks: dict[str, list[str]] = {}
        for layer in branch.layers:
            if layer.prediction and layer.prediction.oracle and layer.speed != "attention":
                name = f"{layer.backend}, {layer.speed}" if layer.backend else "nothing"
                picks.setdefault(name, []).append(layer.subject)
        text = "; ".join(
            f"{', '.join(dict.fromkeys(subjects))}: {name}" for name, subjects in picks.items()
        )
        told.append(f"{_when(branch).strip()}: {text}" if branch.assumptions else text)
    return " | ".join(told) or "nothing is quantized: torch's own kernels"


def refused(layer: LayerProof) -> tuple[tuple[str, str], ...]:
    """(backend, reason) of the candidates passed over before the pick."""
    if layer.prediction is None:
        return ()
    return tuple(
        (step.backend, step.reason)
        for step in layer.prediction.steps
        if step.outcome is Outcome.REFUSED
    )
