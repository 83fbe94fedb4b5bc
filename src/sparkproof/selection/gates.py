"""Gates: which questions a release leaves open, and which its own metadata settles."""

from __future__ import annotations

from collections.abc import Iterable

from sparkproof.core.condition import Condition, Gate, Leaf, Supports, Tri, leaves
from sparkproof.core.deployment import Box
from sparkproof.core.finding import Confidence, Evidence
from sparkproof.core.observations.release_surface import Pin, ReleaseSurface
from sparkproof.facts.gate_packages import gate_packages
from sparkproof.selection.request import GateAnswer


def gates_needed(surface: ReleaseSurface, oracles: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of all gates that the named oracles (all when none is named) may ask, sorted.

    The classes that they ask are followed, and no others.
    """
    wanted = set(oracles)
    waiting: list[Condition] = [
        condition
        for oracle in surface.oracles
        if not wanted or oracle.id in wanted
        for branch in oracle.branches
        for condition in (branch.when, *(attempt.accept for attempt in branch.attempts))
    ]
    asked = {(item.implementation, item.method): item for item in surface.predicates}
    found: set[str] = set()
    while waiting:
        seen: set[Leaf] = {leaf for item in dict.fromkeys(waiting) for leaf in leaves(item)}
        found |= {leaf.name for leaf in seen if isinstance(leaf, Gate)}
        followed = {
            (leaf.implementation, leaf.method) for leaf in seen if isinstance(leaf, Supports)
        }
        predicates = [asked.pop(key) for key in followed & asked.keys()]
        waiting = [decision.when for item in predicates for decision in item.decisions]
    return tuple(sorted(found))


def settle_gates(
    surface: ReleaseSurface, box: Box, names: Iterable[str] | None = None
) -> dict[str, GateAnswer]:
    """Answer what the release's metadata and the stated box can answer.

    Packages are taken as installed where the METADATA asks for them and as absent where
    nothing does; symbols inside a pinned package are taken as present. Compiled operators
    and unstated tools stay open.

    Args:
        names: of the gates that may be asked; all of the surface's where they are not known.
    """
    answers: dict[str, GateAnswer] = {}
    for name in gates_needed(surface) if names is None else names:
        answer = _settle(name, surface, box)
        if answer is not None:
            answers[name] = answer
    return answers


def _settle(name: str, surface: ReleaseSurface, box: Box) -> GateAnswer | None:
    kind, _, rest = name.partition(":")
    if kind == "tool":
        return _tool(rest, box)
    if kind in ("package", "symbol"):
        return _package(rest.partition(":")[0], kind, surface, box)
    return None


def _tool(tool: str, box: Box) -> GateAnswer | None:
    stated = {"nvcc": box.nvcc, "ninja": box.ninja}.get(tool)
    if stated is None:
        return None
    said = "has" if stated else "does not have"
    evidence = Evidence(where="[box]", what=f"{tool} = {str(stated).lower()}")
    return GateAnswer(Tri.of(stated), f"the box {said} {tool}", Confidence.DOCUMENTED, (evidence,))


def _package(dotted: str, kind: str, surface: ReleaseSurface, box: Box) -> GateAnswer:
    top = dotted.split(".", maxsplit=1)[0]
    if top == "vllm":
        evidence = Evidence(where=dotted.replace(".", "/"), what="part of the artifact")
        return GateAnswer(Tri.YES, f"{dotted} comes with vLLM", Confidence.SHOWN, (evidence,))
    book = gate_packages()
    project = book.project.get(top, top.replace("_", "-"))
    if top in book.always:
        return GateAnswer(Tri.YES, f"{top} is there wherever vLLM starts", Confidence.INFERRED)
    if project in box.packages:
        reason = f"the box has {project} {box.packages[project]}"
        return GateAnswer(Tri.YES, reason, Confidence.DOCUMENTED)
    if box.packages_complete:
        return GateAnswer(Tri.NO, f"the image does not hold {project}", Confidence.SHOWN)
    pins = [pin for pin in surface.pins if pin.name == project]
    taken = next((pin for pin in pins if pin.applies), None)
    if taken is not None:
        part = "" if kind == "package" and dotted == top else f", taken to have {dotted}"
        reason = f"{project}{taken.specifier} is required by this release{part}"
        return GateAnswer(Tri.YES, reason, Confidence.INFERRED, (_cite(taken),))
    extra = next((pin for pin in pins if pin.extra), None)
    if extra is not None:
        reason = f"{project} comes only with the extra `{extra.extra}`"
        return GateAnswer(Tri.NO, reason, Confidence.INFERRED, (_cite(extra),))
    reason = f"{project} is not required by this release"
    return GateAnswer(Tri.NO, reason, Confidence.INFERRED)


def _cite(pin: Pin) -> Evidence:
    return pin.source.evidence(f"Requires-Dist: {pin.name}{pin.specifier}")
