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
_HYBRID = "mamba"
_MODELS = {_HYBRID}
_SETTLED = (ClaimAnswer.HOLDS, ClaimAnswer.DOES_NOT_HOLD)


def compare_claims(case: Case, given: Sequence[Given]) -> Iterator[tuple[bool, Change]]:
    """Claims about what the deployment uses that are true of one release only.

    Yields:
        True (it is always news), and the change.
    """
    words = _words(case, given)
    for claim in sorted(claims().values(), key=lambda item: item.id):
        if claim.kind not in KINDS or not _touches(claim, given, words):
            continue
        change = _answered(case, claim, given) or _said(case, claim, given)
        if change is not None:
            yield True, change


def _touches(claim: Claim, given: Sequence[Given], words: set[str]) -> bool:
    """Whether the claim speaks of what the deployment names or gets.

    Backends and methods count more than flags: a claim that names some is about them. A word for
    a sort of model never suffices by itself.
    """
    named = {_normal(item) for item in claim.about if not item.startswith(("--", "#"))}
    kinds = named & _MODELS
    if kinds - words:
        return False
    special = named - kinds
    if special:
        return bool(special & words)
    return any(_is_workaround(claim, item) for item in given)


def _is_workaround(claim: Claim, item: Given) -> bool:
    """A flag that a claim advises; against a blocker, one that switches the blocked thing off."""
    if item.flag not in claim.about or item.key or item.value.lower() == "auto":
        return False
    return claim.kind is not Kind.BLOCKER or item.typed.startswith(("--no-", "--disable-"))


def _words(case: Case, given: Sequence[Given]) -> set[str]:
    """Everything beside its flags that the deployment names or gets."""
    found = {*case.deployment.env, *case.deployment.env.values()}
    for item in given:
        found |= {value for part in flatten(item) for value in part.values}
    for view in (case.before, case.after):
        for branch in view.branches:
            for layer in branch.layers:
                if layer.prediction is not None:
                    found |= {layer.prediction.selected, layer.prediction.implementation}
    words = {_normal(item) for item in found if item}
    return words | ({_HYBRID} if case.model.hybrid else set())


def _normal(word: str) -> str:
    return word.lower().replace("-", "_")


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
    return tuple(Edit(Action.DROP, item.typed) for item in given if _is_workaround(claim, item))


def _one_line(text: str) -> str:
    return " ".join(text.split())
