"""What may be said about the cause of a difference, by the rules of attribution."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from sparkproof import __version__
from sparkproof.core.observations.ab_run import AbPlan
from sparkproof.core.results.ab import AbArm, AbOutcome, AbResult, Treatment
from sparkproof.core.results.compare import Difference, Measured, Relation
from sparkproof.gates.fingerprint import DRIFT_NATS
from sparkproof.receipts.compare import chosen_differences
from sparkproof.usecases.ab.arms import ArmRef
from sparkproof.usecases.bench.identities import derived_identities, stated_identities

_UNMOVED = ", and no speed beyond the spread of the rounds"
_SAID = frozenset({AbOutcome.NO_DIFFERENCE, AbOutcome.HARMLESS})
_WRONG = frozenset({AbOutcome.CORRUPTS, AbOutcome.DIES})


def with_identities(result: AbResult, arms: Sequence[ArmRef], box: str) -> AbResult:
    """The result with each arm's identities. Arms on one host are in one box."""
    hosts = [urlsplit(arm.snapshot.address).hostname or "" for arm in result.arms]
    found = []
    for number, (arm, ref) in enumerate(zip(result.arms, arms, strict=False)):
        place = box or (hosts[number] if len(set(hosts)) == 1 else "")
        drafts = any(p.window and p.window.drafts for p in result.passes if p.arm == number)
        identities = stated_identities(
            ref.deployment,
            _chosen(result.plan, place),
            derived_identities(arm.snapshot, arm.model, speculates=drafts),
        )
        found.append(msgspec.structs.replace(arm, identities=identities))
    return msgspec.structs.replace(result, arms=tuple(found))


def _chosen(plan: AbPlan, box: str) -> dict[str, str]:
    chosen = {"load": plan.tasks_digest[7:19], "tool": f"sparkproof ab {__version__}"}
    return {**chosen, "box": box} if box else chosen


def attribute(result: AbResult) -> AbResult:
    """The result with relation, reason and experiments at each treatment."""
    return msgspec.structs.replace(
        result, treatments=tuple(_attributed(result, item) for item in result.treatments)
    )


def _attributed(result: AbResult, treatment: Treatment) -> Treatment:
    if result.plan.aa:
        return treatment
    faster = not treatment.speed_doubts and any(change.beyond for change in treatment.speed)
    if treatment.outcome not in _WRONG and not faster:
        if treatment.outcome not in _SAID:
            return treatment
        return msgspec.structs.replace(
            treatment,
            relation=Relation.NO_DIFFERENCE,
            reason="no corruption seen" + _UNMOVED * (not treatment.speed_doubts),
        )
    relation, reason, experiments = _cause(result, treatment)
    return msgspec.structs.replace(
        treatment, relation=relation, reason=reason, experiments=experiments
    )


def _cause(result: AbResult, treatment: Treatment) -> tuple[Relation, str, tuple[str, ...]]:
    control, other = result.arms[0], result.arms[treatment.arm]
    chosen, unstated = chosen_differences(_measured(control), _measured(other))
    flags = changed_flags(control, other)
    print_ = treatment.fingerprint
    if not result.plan.differ and print_ is not None and print_.mean_nats > DRIFT_NATS:
        reason = f"the fingerprints lie {print_.mean_nats:.2f} nats a token apart"
        step = "make sure that both serve the same checkpoint (its config's digest), then ask again"
        return Relation.CANNOT_ATTRIBUTE, f"cannot be attributed: {reason}", (step,)
    experiments = [*_one_at_a_time(chosen, flags)]
    if unstated:
        sides = "--control-deployment, --treatment-deployment, --box"
        experiments.append(f"state {', '.join(unstated)} of both arms ({sides})")
    if not chosen and not unstated:
        step = "ask again, and look at clocks, temperature and what else differs"
        return Relation.UNEXPLAINED, "every chosen identity is the same", (step,)
    if unstated or len(chosen) > 1 or len(flags) > 1:
        roles = ", ".join([*(d.role for d in chosen), *flags]) or "nothing stated"
        open_ = f"; not stated: {', '.join(unstated)}" if unstated else ""
        reason = f"cannot be attributed: {roles} differs{open_}"
        return Relation.CANNOT_ATTRIBUTE, reason, tuple(experiments)
    named = f" ({flags[0]})" if flags else ""
    return Relation.BECAUSE, f"because of {chosen[0].role}{named}", ()


def _one_at_a_time(chosen: Sequence[Difference], flags: Sequence[str]) -> list[str]:
    if len(chosen) + max(0, len(flags) - 1) < 2:
        return []
    roles = [d.role for d in chosen if d.role != "arguments" or len(flags) < 2]
    several = flags if len(flags) > 1 else ()
    return [f"the control with only its {name} changed" for name in (*roles, *several)]


def _measured(arm: AbArm) -> Measured:
    return Measured(
        receipt=arm.name,
        command="ab",
        created_at="",
        sound=True,
        loaded=False,
        identities=arm.identities,
    )


def changed_flags(one: AbArm, two: AbArm) -> tuple[str, ...]:
    """The vLLM flags in which two stated command lines differ."""
    first, second = (_flags(arm.identities.chosen.get("arguments", "")) for arm in (one, two))
    return tuple(flag for flag in sorted({*first, *second}) if first.get(flag) != second.get(flag))


def _flags(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    flag = ""
    for word in shlex.split(text):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            flag = name.replace("_", "-")
            found[flag] = (value,) if equals else ()
        elif flag:
            found[flag] = (*found[flag], word)
    return found
