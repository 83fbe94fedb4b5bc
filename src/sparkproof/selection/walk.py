"""One walk over the candidates of a branch, each with its outcome and reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sparkproof.core.condition import (
    TRUE,
    All,
    Condition,
    Supports,
    Tri,
    evaluate,
    leaves,
    negate,
)
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.release_surface import Attempt, Branch, Oracle
from sparkproof.core.prediction import Outcome, Step
from sparkproof.facts.gate_questions import find_question, find_setting, split_question
from sparkproof.selection.context import BLOCK_SIZE, Context

MAX_BLAMED = 4
"""How many causes a line names."""
_RAISED = "{type(e).__name__}: {e}"
_SELECTED = "selected_backend"
_DEVICE = {"device_name": "", "capability": "", "cls.device_name": "a device "}
_LAST_REASON = ("reason", "last_reason")
_REASONS = ("invalid_reasons", "reasons_str", "unsupported_log", "e")
"""Names that releases give in their messages to what their candidates said."""
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def walk(branch: Branch, context: Context, *, beyond: bool = False) -> tuple[Step, ...]:
    """The steps of a branch; candidates of one backend that follow each other are one step.

    Args:
        beyond: ask those after the pick too, as a release does that lists every valid one.
    """
    steps: list[Step] = []
    settled = False
    for group in _groups(branch.attempts):
        if settled:
            steps.append(_after_the_pick(group, context) if beyond else _not_reached(group))
            continue
        step = _step(group, context, after_open=any(_is_open(item) for item in steps))
        settled = step.outcome is Outcome.TAKEN or step.reason.startswith("taken if")
        steps.append(step)
    return tuple(steps)


def _is_open(step: Step) -> bool:
    return step.outcome is Outcome.UNDECIDED


def _groups(attempts: Iterable[Attempt]) -> list[list[Attempt]]:
    groups: list[list[Attempt]] = []
    for attempt in attempts:
        if groups and groups[-1][0].backend == attempt.backend:
            groups[-1].append(attempt)
        else:
            groups.append([attempt])
    return groups


def _after_the_pick(group: list[Attempt], context: Context) -> Step:
    """What is asked here bears on no pick, so its gates don't count as consulted."""
    odd = _odd_blocks(group, context)
    if odd is not None:
        return odd
    aside = replace(context.with_blocks(group[0].backend), consulted=set())
    refused = all(evaluate(item.accept, aside) is Tri.NO for item in group)
    return _refused(group, aside) if refused else _not_reached(group)


def _not_reached(group: list[Attempt]) -> Step:
    first = group[0]
    return Step(
        backend=first.backend,
        outcome=Outcome.NOT_REACHED,
        reason="stands after the one that is taken",
        implementation=first.implementation,
        evidence=(first.source.evidence("candidate"),),
    )


def _step(group: list[Attempt], context: Context, *, after_open: bool) -> Step:
    odd = _odd_blocks(group, context)
    if odd is not None:
        return odd
    context = context.with_blocks(group[0].backend)
    answers = [(attempt, evaluate(attempt.accept, context)) for attempt in group]
    taken = next((item for item, answer in answers if answer is Tri.YES), None)
    open_ones = [item for item, answer in answers if answer is Tri.UNKNOWN]
    if taken is not None and not open_ones:
        return _taken(taken, context, after_open=after_open)
    if open_ones:
        first = open_ones[0]
        gates = tuple(
            dict.fromkeys(name for item in open_ones for name in context.open_names(item.accept))
        )
        reason = name_gates(gates)
        return Step(
            backend=first.backend,
            outcome=Outcome.UNDECIDED,
            reason=reason,
            implementation=first.implementation,
            gates=gates,
            evidence=(first.source.evidence("candidate"),),
        )
    return _refused(group, context)


def _odd_blocks(group: list[Attempt], context: Context) -> Step | None:
    """The refusal of a backend whose kernels can't cut the stated block."""
    first = group[0]
    backend = context.too_odd_blocks(first.backend)
    if backend is None:
        return None
    sizes = " or ".join(map(str, backend.sizes))
    stated = context.settings[BLOCK_SIZE]
    return Step(
        backend=first.backend,
        outcome=Outcome.REFUSED,
        reason=f"block_size not supported ({stated} is no multiple of {sizes})",
        implementation=first.implementation,
        evidence=(
            Evidence(*backend.source.partition(": ")[::2]),
            first.source.evidence("candidate"),
        ),
    )


def name_gates(gates: tuple[str, ...]) -> str:
    """``depends on tool:nvcc, tool:ninja``: the first few by name, the rest by number."""
    named = tuple(dict.fromkeys(map(_gate, gates)))
    told = ", ".join(named[:MAX_BLAMED]) or "something that could not be read"
    more = len(named) - MAX_BLAMED
    return f"depends on {told}" + (f" and {more} more" if more > 0 else "")


def _gate(name: str) -> str:
    """A gate's name; of a test that was not read its text, with its place where it has one."""
    if name.startswith("call:"):
        return _asked_outside(name)
    setting = find_setting(name)
    if setting:
        return f"{setting}, which the config does not declare"
    if not name.startswith("unread:"):
        return name
    _, where, line, text = name.split(":", 3)
    place = f" ({where}:{line})" if where else ""
    return f"the unread test `{text}`{place}"


def _asked_outside(name: str) -> str:
    """``has_nvidia_artifactory(): whether …``, or the test that it makes."""
    function, test = split_question(name)
    known = find_question(name)
    told = known.asks if known is not None else f"`{test}`"
    return f"{function}(): {told}" if function else name


def _taken(attempt: Attempt, context: Context, *, after_open: bool) -> Step:
    predicate = _asked(attempt, context)
    evidence = [attempt.source.evidence("candidate"), *predicate]
    return Step(
        backend=attempt.backend,
        outcome=Outcome.UNDECIDED if after_open else Outcome.TAKEN,
        reason=(
            "taken if none of the open ones before it is"
            if after_open
            else "supports this device, scheme and configuration"
        ),
        implementation=attempt.implementation,
        evidence=tuple(evidence),
    )


def _asked(attempt: Attempt, context: Context) -> list[Evidence]:
    found = []
    for leaf in leaves(attempt.accept):
        if isinstance(leaf, Supports):
            predicate = context.surface.predicate(leaf.implementation, leaf.method)
            if predicate is not None:
                what = f"{leaf.implementation}.{leaf.method}"
                found.append(predicate.source.evidence(what))
    return found


def _refused(group: list[Attempt], context: Context) -> Step:
    reasons: list[str] = []
    evidence: list[Evidence] = []
    for attempt in group:
        reason, places = explain(attempt.accept, context)
        reasons.append(reason)
        evidence.extend(places)
    first = group[0]
    return Step(
        backend=first.backend,
        outcome=Outcome.REFUSED,
        reason="; ".join(dict.fromkeys(reasons)),
        implementation=first.implementation,
        evidence=tuple(dict.fromkeys((*evidence, first.source.evidence("candidate")))),
    )


def explain(condition: Condition, context: Context) -> tuple[str, list[Evidence]]:
    """Why a condition does not hold: the release's own words, and what they rest on."""
    for leaf in leaves(condition):
        if isinstance(leaf, Supports) and context.leaf(leaf) is Tri.NO:
            return _explain_class(leaf, context)
    blamed = list(dict.fromkeys(context.blame(condition)))
    return "; ".join(blamed) or "never taken in this release", []


def _explain_class(leaf: Supports, context: Context) -> tuple[str, list[Evidence]]:
    predicate = context.surface.predicate(leaf.implementation, leaf.method)
    assert predicate is not None
    inner = context.under(leaf)
    found = inner.possible(predicate)
    decision = next((item for item, answer in found if answer is Tri.YES), found[0][0])
    blamed: list[str] = []
    if decision.when == TRUE:
        for item in predicate.decisions:
            blamed.extend(inner.blame(item.when) if item.accepts else ())
    else:
        blamed.extend(inner.blame(negate(_last(decision.when))))
    reason = fill(decision.reason, inner) or "refuses without a reason"
    because = "; ".join(list(dict.fromkeys(blamed))[:MAX_BLAMED])
    text = f"{reason} ({because})" if because else reason
    return text, [decision.source.evidence(f"{leaf.implementation}.{leaf.method}")]


def _last(condition: Condition) -> Condition:
    """The test that decided: the last of those that had to hold."""
    return condition.items[-1] if isinstance(condition, All) else condition


def fill(
    text: str, context: Context, refused: Sequence[tuple[str, str]] = (), named: str = ""
) -> str:
    """Put known values into the holes of a message of the release, an ellipsis into the rest.

    Args:
        refused: what was refused, each with its reason, in the order of asking.
        named: the backend that a flag names.
    """
    reasons = {
        **dict.fromkeys(_LAST_REASON, refused[-1][1] if refused else "…"),
        **dict.fromkeys(_REASONS, "; ".join(f"{name}: {why}" for name, why in refused) or "…"),
    }

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name in reasons:
            return reasons[name]
        if name in context.settings:
            return str(context.settings[name])
        if name in context.env:
            return context.env[name]
        if name in _DEVICE:
            return f"{_DEVICE[name]}of capability {context.capability}"
        return named if name == _SELECTED and named else "…"

    return _PLACEHOLDER.sub(value, text.replace(_RAISED, "{e}"))


def bypassed(oracle: Oracle, keep: set[str], why: str) -> tuple[Step, ...]:
    """The listed candidates that are never asked."""
    classes = {item.backend: item.implementations for item in oracle.dispatch}
    return tuple(
        Step(
            backend=name,
            outcome=Outcome.BYPASSED,
            reason=why,
            implementation=classes.get(name, (name if oracle.id.startswith("dense") else "",))[0],
            evidence=(oracle.source.evidence("order of candidates"),),
        )
        for name in oracle.listed
        if name not in keep
    )


def ladder(oracle: Oracle, taken: Step, context: Context) -> tuple[Step, ...]:
    """The steps of a selection written as a chain of tests, each naming one backend."""
    classes = {item.backend: item.implementations[0] for item in oracle.dispatch}
    steps: list[Step] = []
    seen: set[str] = set()
    for branch in oracle.branches:
        if not branch.selected or branch.selected in seen:
            continue
        seen.add(branch.selected)
        if branch.selected == taken.backend:
            steps.append(taken)
            continue
        reached = any(step.outcome is Outcome.TAKEN for step in steps)
        reason = "; ".join(list(dict.fromkeys(context.blame(branch.when)))[:MAX_BLAMED])
        steps.append(
            Step(
                backend=branch.selected,
                outcome=Outcome.NOT_REACHED if reached else Outcome.REFUSED,
                reason="stands after the one that is taken" if reached else reason,
                implementation=branch.implementation or classes.get(branch.selected, ""),
                evidence=(branch.source.evidence("way through the selection"),),
            )
        )
    return tuple(steps)
