"""What a release does by itself that another did not: defaults, scheduling, runner, cache mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sparkproof.core.finding import Confidence
from sparkproof.core.observations.release_surface import Option
from sparkproof.core.results.upgrade import Action, Bite, Change, Edit
from sparkproof.facts.successors import new_defaults
from sparkproof.upgrade.arguments import Given, lookup
from sparkproof.upgrade.decisions import ASYNC, FORCED, RUNNER, decider, speculation
from sparkproof.upgrade.view import Born, Case

_SURFACE = "release surface"
_ASYNC_FLAG = "--async-scheduling"
_CONTEXT_PARALLEL = "--decode-context-parallel-size"


def compare_behaviour(case: Case, given: Sequence[Given]) -> Iterator[tuple[bool, Change]]:
    """Every decision and default that comes out otherwise.

    Yields:
        Whether it is news, and the change.
    """
    yield from _async(case, given)
    yield from ((True, change) for change in _runner(case, given))
    yield from ((True, change) for change in _cache_mode(case))
    yield from ((True, change) for change in _defaults(case, given))


def _async(case: Case, given: Sequence[Given]) -> Iterator[tuple[bool, Change]]:
    asked = lookup(given, _ASYNC_FLAG)
    if asked is not None and asked.typed != _ASYNC_FLAG:
        return
    rule = FORCED if asked is not None else ASYNC
    sides = [decider(case, view.surface, given) for view in (case.before, case.after)]
    old, new = (side.outcome(rule) for side in sides)
    if not new or (old == new and new != "error") or not old:
        return
    why = sides[1].reason(rule) or sides[0].reason(rule)
    if new == "error":
        edits = (Edit(Action.DROP, _ASYNC_FLAG),)
        change = Change(Bite.WONT_START, _ASYNC_FLAG, why, _SURFACE, old, new, edits)
        yield old != "error", change
        return
    told = f": {why}" if why and new == "off" else ""
    message = f"asynchronous scheduling is {new} by itself now{told}"
    yield True, Change(Bite.BEHAVIOUR, "async scheduling", message, _SURFACE, old, new)


def _runner(case: Case, given: Sequence[Given]) -> Iterator[Change]:
    sides = [decider(case, view.surface, given) for view in (case.before, case.after)]
    old, new = (side.outcome(RUNNER) for side in sides)
    if old == new or not (old and new):
        return
    names = {"on": "V2", "off": "V1"}
    reasons = "; ".join(sides[1].unsupported()) if new == "off" else ""
    variable = "VLLM_USE_V2_MODEL_RUNNER"
    keep = Edit(Action.ADD, variable, "0" if new == "on" else "1", variable=True)
    yield Change(
        bite=Bite.BEHAVIOUR,
        subject="model runner",
        message=f"runs on the {names.get(new, new)} model runner"
        + (f", for it has {reasons}" if reasons else "")
        + ": soak it as you would another backend",
        rests_on=_SURFACE,
        before=names.get(old, old),
        after=names.get(new, new),
        edits=(keep,) if variable in case.after.surface.env_names and not reasons else (),
        optional=True,
        confidence=Confidence.INFERRED,
    )


def _cache_mode(case: Case) -> Iterator[Change]:
    old, new = case.before.plan, case.after.plan
    if old is None or new is None:
        return
    if old.prefix_caching != new.prefix_caching:
        words = {True: "on", False: "off"}
        before, after = words[old.prefix_caching], words[new.prefix_caching]
        flag = "--enable-prefix-caching" if old.prefix_caching else "--no-enable-prefix-caching"
        yield Change(
            bite=Bite.BEHAVIOUR,
            subject="prefix caching",
            message=f"prefix caching is {after} by itself now",
            rests_on="fact",
            before=before,
            after=after,
            edits=(Edit(Action.ADD, flag),),
            optional=True,
        )
    if old.state_mode != new.state_mode:
        yield Change(
            bite=Bite.BEHAVIOUR,
            subject="prefix-cache mode",
            message=f"recurrent states are cached in mode `{new.state_mode}`",
            rests_on="fact",
            before=old.state_mode,
            after=new.state_mode,
        )


def _defaults(case: Case, given: Sequence[Given]) -> Iterator[Change]:
    typed = {item.flag for item in given}
    for option in case.after.surface.options:
        born = case.born.get(option.flag)
        old = born.option if born is not None else case.before.surface.option(option.flag)
        if old is None or old.group != option.group or option.flag in typed:
            continue
        if not _differs(old, option) or not _reaches(case, given, option.flag):
            continue
        known = new_defaults().get(option.flag)
        meaning = f": {known.meaning}" if known is not None else ""
        yield Change(
            bite=Bite.BEHAVIOUR,
            subject=option.flag,
            message=f"{option.flag} has another default{_than_at_first(born)}{meaning}",
            rests_on=_SURFACE,
            before=_shown(old),
            after=_shown(option),
            edits=_keep(old),
            optional=True,
            evidence=(option.source.evidence(f"registers {option.flag}"),),
        )


def _than_at_first(born: Born | None) -> str:
    return f" than it came with in {born.release}" if born is not None else ""


def _differs(old: Option, new: Option) -> bool:
    if old.computed and new.computed:
        return False
    return (old.default, bool(old.computed)) != (new.default, bool(new.computed))


def _shown(option: Option) -> str:
    if option.computed:
        return option.computed
    return "unset" if option.default is None else str(option.default)


def _keep(old: Option) -> tuple[Edit, ...]:
    if old.computed or old.default is None or isinstance(old.default, bool):
        return ()  # unset can't be typed
    return (Edit(Action.ADD, old.flag, str(old.default)),)


def _reaches(case: Case, given: Sequence[Given], flag: str) -> bool:
    known = new_defaults().get(flag)
    return known is None or _TOUCHES[known.touches](case, given)


def _prefix_caching(case: Case, given: Sequence[Given]) -> bool:
    if case.after.plan is not None:
        return case.after.plan.prefix_caching
    asked = lookup(given, "--enable-prefix-caching")
    return asked is None or asked.typed == "--enable-prefix-caching"


def _several_contexts(_: Case, given: Sequence[Given]) -> bool:
    asked = lookup(given, _CONTEXT_PARALLEL)
    return asked is not None and asked.value not in ("", "1")


_TOUCHES: dict[str, Callable[[Case, Sequence[Given]], bool]] = {
    "always": lambda _case, _given: True,
    "never": lambda _case, _given: False,
    "prefix-caching": _prefix_caching,
    "vision": lambda case, _given: case.model.vision,
    "hybrid": lambda case, _given: case.model.hybrid,
    "speculation": lambda _case, given: bool(speculation(given)),
    "tools": lambda _case, given: lookup(given, "--tool-call-parser") is not None,
    "context-parallel": _several_contexts,
}
