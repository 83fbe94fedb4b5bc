"""Blockers and workarounds whose reason is another one in the new release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.finding import Confidence
from sparkproof.core.results.upgrade import Action, Bite, Change, Edit
from sparkproof.facts.claim import Claim, Kind, claims
from sparkproof.upgrade.arguments import Given, flatten
from sparkproof.upgrade.view import Case

KINDS = (Kind.BLOCKER, Kind.WORKAROUND, Kind.BAD_PIN)
_HYBRID = "Mamba"
_SETTLED = (ClaimAnswer.HOLDS, ClaimAnswer.DOES_NOT_HOLD)


def compare_claims(case: Case, given: Sequence[Given]) -> Iterator[tuple[bool, Change]]:
    """Claims about what the deployment uses that are true of one release only.

    Yields:
        True (it is always news), and the change.
    """
    words = _words(case, given)
    for claim in sorted(claims().values(), key=lambda item: item.id):
        if claim.kind not in KINDS or not words & set(claim.about):
            continue
        if _HYBRID in claim.about and case.model.read and not case.model.hybrid:
            continue
        change = _answered(case, claim, given) or _said(case, claim, given)
        if change is not None:
            yield True, change


def _words(case: Case, given: Sequence[Given]) -> set[str]:
    """Everything that the deployment names or gets."""
    found = {item.flag for item in given} | set(case.deployment.env)
    for item in given:
        found |= {value for part in flatten(item) for value in part.values}
    for view in (case.before, case.after):
        for branch in view.branches:
            for layer in branch.layers:
                if layer.prediction is not None:
                    found |= {layer.prediction.selected, layer.prediction.implementation}
    return found - {""}


def _answered(case: Case, claim: Claim, given: Sequence[Given]) -> Change | None:
    """What both artifacts say, where both can."""
    old = case.before.claims.get(claim.id, ClaimAnswer.CANNOT_BE_TOLD)
    new = case.after.claims.get(claim.id, ClaimAnswer.CANNOT_BE_TOLD)
    if old == new or old not in _SETTLED or new not in _SETTLED:
        return None
    holds = new is ClaimAnswer.HOLDS
    lifted = holds is (claim.kind is Kind.WORKAROUND)
    now = f" {_one_line(claim.now)}" if claim.now and not holds else ""
    return Change(
        bite=Bite.LIFTED if lifted else Bite.BEHAVIOUR,
        subject=claim.id,
        message=f"{_one_line(claim.statement)}{now}",
        rests_on=f"claim {claim.id}",
        before=old.value,
        after=new.value,
        edits=_edits(claim, given) if lifted and not holds else (),
        optional=True,
    )


def _said(case: Case, claim: Claim, given: Sequence[Given]) -> Change | None:
    """What the source says of one release and not of the other, where no artifact can tell."""
    old, new = case.before.surface.version, case.after.surface.version
    if not claim.said or not claim.claimed(old) or claim.claimed(new):
        return None
    if case.after.claims.get(claim.id, ClaimAnswer.CANNOT_BE_TOLD) in _SETTLED:
        return None
    said = f"said of {claim.said} only"
    return Change(
        bite=Bite.LIFTED,
        subject=claim.id,
        message=" ".join(
            filter(None, (_one_line(claim.statement), f"({said})", _one_line(claim.now)))
        ),
        rests_on=f"claim {claim.id}",
        before=f"said of {old}",
        after=f"not said of {new}",
        edits=_edits(claim, given),
        optional=True,
        confidence=Confidence.REPORTED,
    )


def _edits(claim: Claim, given: Sequence[Given]) -> tuple[Edit, ...]:
    """Dropping the flags that the claim is about: the workaround that it was the reason of."""
    return tuple(
        Edit(Action.DROP, item.typed) for item in given if item.flag in claim.about and not item.key
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
