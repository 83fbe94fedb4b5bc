"""From the branches of a proof to its findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from sparkproof.core.delivery import Route
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.prediction import How, Prediction
from sparkproof.core.results.proof import Branch, Delivery, LayerProof
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Verdict
from sparkproof.facts.backend import Means, Speed
from sparkproof.facts.gate_questions import find_question, find_setting
from sparkproof.usecases.prove.roles import (
    ARCHITECTURE,
    DRAFT_REFUSED,
    KV_CACHE,
    QUANTIZATION,
    QUANTIZATION_FLAG,
    follows,
)
from sparkproof.usecases.prove.summary import when

_REFUSED = {
    ARCHITECTURE: "select/unknown-architecture",
    KV_CACHE: "select/cache-format-refused",
    DRAFT_REFUSED: "select/drafter-refused",
    QUANTIZATION: "select/quantization-refused",
    QUANTIZATION_FLAG: "select/quantization-refused",
}
_STAND_IN = "select/transformers-stand-in"
_DENSE_ORACLES = "dense/"
_MOE_ORACLES = "moe/"
_BACKEND_FLAGS = {"--moe-backend": _MOE_ORACLES, "--linear-backend": _DENSE_ORACLES}


def find_in_branches(branches: Sequence[Branch], arguments: SelectionArgs) -> tuple[Finding, ...]:
    """Findings of all branches; one that several layer classes share is told once."""
    found = [
        finding
        for branch in branches
        for layer in branch.layers
        if not follows(layer, branch.layers)
        for finding in _layer(layer, branch)
    ]
    found += _half_forced(branches, arguments)
    if len(branches) > 1:
        found.append(_undecided(branches))
    return tuple(_merged(found))


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings that differ in their subject alone, as one that names all subjects."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.message), []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: group[0].severity.rank)
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
    elif layer.subject in _REFUSED and layer.verdict is Verdict.FAIL:
        yield _finding(_REFUSED[layer.subject], Severity.ERROR, layer, layer.reason, ())
    elif layer.subject == QUANTIZATION_FLAG and layer.verdict is Verdict.PASS:
        yield _finding("select/quantization-replaced", Severity.WARNING, layer, layer.reason, ())
    elif layer.subject == ARCHITECTURE and layer.verdict is Verdict.INCONCLUSIVE:
        yield _finding(_STAND_IN, Severity.WARNING, layer, layer.reason, ())
    elif layer.guess:
        yield _finding("select/guessed", Severity.WARNING, layer, layer.guess, ())
    elif layer.verdict is Verdict.INCONCLUSIVE and not layer.deliveries:
        found = _finding("deliver/not-examined", Severity.WARNING, layer, layer.reason, ())
        yield msgspec.structs.replace(found, remedy=_ways_out(prediction))
    if layer.speed == Speed.EMULATION.value:
        yield _finding("select/emulation", Severity.WARNING, layer, f"runs on {layer.backend}", ())
    for delivery in layer.deliveries:
        yield from _delivery(layer, delivery, branch)


def _ways_out(prediction: Prediction | None) -> str:
    """How the questions are settled that a pick hangs on, as far as that is known."""
    steps = prediction.steps if prediction is not None else ()
    gates = [gate for step in steps for gate in step.gates]
    known = [find_question(gate) for gate in gates]
    ways = [item.remedy for item in known if item is not None]
    if any(map(find_setting, gates)):
        ways.append("run the same command on the checkpoint's own config.json")
    return "; ".join(dict.fromkeys(ways))


def _delivery(layer: LayerProof, item: Delivery, branch: Branch) -> Iterator[Finding]:
    told = f"{item.what}: {item.reason}"
    if item.verdict is Verdict.FAIL and item.means == Means.NVCC.value:
        assumed = f"{item.what}: {item.name} compiles it at first use, not possible {when(branch)}"
        message = assumed if branch.assumptions else told
        yield _finding("deliver/no-compiler", Severity.ERROR, layer, message, item.evidence)
    elif item.verdict is Verdict.FAIL and item.route == Route.DEAD_CODE.value:
        yield _finding("deliver/dead-code", Severity.ERROR, layer, told, item.evidence)
    elif item.verdict is Verdict.FAIL:
        message = f"{told} ({item.name}); {_CRASH}"
        yield _finding("deliver/no-kernel-image", Severity.ERROR, layer, message, item.evidence)
    elif item.verdict is Verdict.INCONCLUSIVE:
        yield _finding("deliver/not-examined", Severity.WARNING, layer, told, item.evidence)
    elif item.warning and item.means == Means.NVCC.value:
        how = when(branch) or "with nvcc and ninja"
        message = f"compiled at first use by {item.name} {how}"
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
    "select/guessed": "boot it once and hold the log against this answer:"
    " `sparkproof prove ... --log FILE`",
    "select/transformers-stand-in": "boot it once with --model-impl transformers, which says what"
    " is missing, or take a release that lists it",
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


def _half_forced(branches: Sequence[Branch], arguments: SelectionArgs) -> list[Finding]:
    """One of the two backend flags given, while the other oracle picks something else."""
    values = {
        "--moe-backend": arguments.moe_backend,
        "--linear-backend": arguments.linear_backend,
    }
    forced = {flag for flag, value in values.items() if value.lower() != "auto"}
    if len(forced) != 1 or any(_raises(layer) for branch in branches for layer in branch.layers):
        return []
    (flag,) = forced
    (other,) = set(values) - forced
    left = dict(_left_alone(branches, _BACKEND_FLAGS[other], values[flag]))
    if not left:
        return []
    return [
        Finding(
            rule="select/half-forced",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=f"{flag} {values[flag]} does not reach these layers, which go to "
            + ", ".join(dict.fromkeys(left.values())),
            subject=", ".join(left),
            remedy=f"give {other} too, or neither",
        )
    ]


def _raises(layer: LayerProof) -> bool:
    return layer.prediction is not None and bool(layer.prediction.error)


def _left_alone(branches: Sequence[Branch], oracles: str, value: str) -> Iterator[tuple[str, str]]:
    """(layer class, backend) of what the other oracle picks by itself, and otherwise."""
    wanted = value.lower().replace("-", "_")
    for branch in branches:
        for layer in branch.layers:
            found = layer.prediction
            if found is None or not found.oracle.startswith(oracles) or found.how is not How.AUTO:
                continue
            if wanted not in found.selected.lower():
                yield layer.subject, found.selected


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
