"""A proof in a few words: its criteria, and one line for the operator. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkproof.core.results.proof import Branch, LayerProof
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.facts.backend import Speed
from sparkproof.usecases.prove.roles import follows

_EXPERTS = "experts"
_TOLD = 2
"""How many causes the one line names."""


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


_GOOD = (Verdict.PASS, Verdict.SKIPPED)


def summarize(branches: Sequence[Branch]) -> str:
    """What each quantized class runs on; where it can't, what stands in the way, first."""
    texts = [_picks(item) if item.verdict in _GOOD else _trouble(item) for item in branches]
    if len(set(texts)) == 1:
        return texts[0]
    trouble = any(item.verdict not in _GOOD for item in branches)
    told = zip(branches, texts, strict=True)
    bad = [f"{when(item)}: {text}" for item, text in told if item.verdict not in _GOOD]
    good = [item for item in branches if item.verdict in _GOOD]
    if trouble:
        return " | ".join((*bad, *(f"{when(item)} it passes" for item in good)))
    return " | ".join(f"{when(item)}: {_picks(item)}" for item in good)


def when(branch: Branch) -> str:
    """``if nvcc is there``, ``without nvcc and ninja``; "" where nothing was assumed."""
    if not branch.assumptions:
        return ""
    names = " and ".join(name.partition(":")[2] or name for name in branch.assumptions)
    if set(branch.assumptions.values()) != {"yes"}:
        return f"without {names}"
    return f"if {names} {'is' if len(branch.assumptions) == 1 else 'are'} there"


def passes_with(change: str) -> str:
    """``passes with --moe-backend marlin``, ``passes without nvcc in the image``."""
    joint = "" if change.startswith(("with ", "without ")) else "with "
    return f"passes {joint}{change}"


def _picks(branch: Branch) -> str:
    """The backends by what the operator gets; with their classes where those differ in kind."""
    picks: dict[tuple[str, str], list[str]] = {}
    for layer in branch.layers:
        asked = layer.prediction is not None and layer.prediction.oracle
        if asked and layer.backend and layer.speed != Speed.ATTENTION.value:
            picks.setdefault((layer.backend, layer.speed), []).append(layer.subject)
    if not picks:
        return "nothing is quantized: torch's own kernels"
    dense = sum(any(name != _EXPERTS for name in subjects) for subjects in picks.values())
    if dense > 1 or sum(_EXPERTS in subjects for subjects in picks.values()) > 1:
        told = (f"{_each(names)}: {_backend(*pick)}" for pick, names in picks.items())
        return "; ".join(told)
    speeds = {speed for _, speed in picks}
    if len(speeds) > 1:
        return " and ".join(_backend(*pick) for pick in picks)
    return _backend(" and ".join(backend for backend, _ in picks), speeds.pop())


def _backend(name: str, speed: str) -> str:
    return name if speed in name else f"{name}, {speed}"


def _trouble(branch: Branch) -> str:
    causes: dict[str, list[str]] = {}
    for reason, subject in _decisive(branch):
        causes.setdefault(reason, []).append(subject)
    told = [f"{_each(subjects)}: {reason}" for reason, subjects in causes.items()]
    more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
    return "; ".join(told[:_TOLD]) + more


def _decisive(branch: Branch) -> Iterator[tuple[str, str]]:
    """(what stands in the way, layer class), delivery by delivery where there are some."""
    for layer in branch.layers:
        if layer.verdict is not branch.verdict or follows(layer, branch.layers):
            continue
        items = [item for item in layer.deliveries if item.verdict is layer.verdict]
        for item in items:
            what = "" if layer.subject.startswith(item.what) else f"{item.what}: "
            yield f"{what}{item.reason}", layer.subject
        if not items:
            yield layer.reason, layer.subject


def _each(subjects: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(subjects))
