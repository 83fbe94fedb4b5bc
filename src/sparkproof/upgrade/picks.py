"""Another kernel: the picks of both releases, layer class by layer class."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.finding import Confidence
from sparkproof.core.prediction import How
from sparkproof.core.results.proof import Branch, LayerProof
from sparkproof.core.results.upgrade import Action, Bite, Change, Edit
from sparkproof.core.verdict import Verdict
from sparkproof.upgrade.view import Case

_SELECTION = "selection"
_Keyed = dict[tuple[str, str, str], LayerProof]


def compare_picks(case: Case) -> Iterator[tuple[bool, Change]]:
    """Layer classes whose kernel, or whose delivery, is another one.

    Yields:
        Whether it is news, and the change.
    """
    told: dict[tuple[bool, Change], None] = {}
    for branch in case.after.branches:
        other = _same_assumptions(case.before.branches, branch)
        if other is None:
            continue
        old, new = _keyed(other), _keyed(branch)
        for key, layer in new.items():
            before = old.get(key) or _by_subject(old, key[0])
            if before is not None:
                told.update(dict.fromkeys(_layer(case, before, layer)))
    yield from told


def _same_assumptions(branches: tuple[Branch, ...], branch: Branch) -> Branch | None:
    """The other side's branch under the same assumptions; its only one where nothing was open."""
    same = [item for item in branches if item.assumptions == branch.assumptions]
    return next(iter(same or branches), None)


def _keyed(branch: Branch) -> _Keyed:
    return {(item.subject, item.scheme, item.layers): item for item in branch.layers}


def _by_subject(layers: _Keyed, subject: str) -> LayerProof | None:
    found = [item for key, item in layers.items() if key[0] == subject]
    return found[0] if len(found) == 1 else None


def _layer(case: Case, old: LayerProof, new: LayerProof) -> Iterator[tuple[bool, Change]]:
    subject = " ".join(filter(None, (new.subject, new.scheme)))
    old_error, new_error = _error(old), _error(new)
    if new_error:
        yield not old_error, _refused(case, subject, old, new, new_error)
        return
    if old_error:
        if _name(new):
            yield True, _works_now(subject, old_error, new)
        return
    before, after = _identity(old), _identity(new)
    if before != after and (before or after):
        yield True, _another(subject, old, new, delivery=case.after.delivery)
        return
    both = case.before.delivery and case.after.delivery
    if both and new.verdict is Verdict.FAIL and old.verdict is not Verdict.FAIL:
        yield True, _undelivered(subject, new)
    elif both and old.verdict is Verdict.FAIL and new.verdict is Verdict.PASS:
        yield True, _works_now(subject, old.reason, new)


def _error(layer: LayerProof) -> str:
    """What the release raises, as far as selection goes."""
    if layer.prediction is not None:
        error = layer.prediction.error.partition(" (choose from")[0]
        return " ".join(error.replace("\\n", " ").split())
    refused = layer.verdict is Verdict.FAIL and not layer.deliveries
    return layer.reason.removeprefix("vLLM refuses: ") if refused else ""


def _identity(layer: LayerProof) -> str:
    prediction = layer.prediction
    if prediction is None:
        return ""
    return prediction.implementation or prediction.selected


def _name(layer: LayerProof) -> str:
    prediction = layer.prediction
    if prediction is None:
        return layer.backend
    return prediction.selected or ("undecided" if prediction.steps else "")


def _refused(case: Case, subject: str, old: LayerProof, new: LayerProof, error: str) -> Change:
    prediction = new.prediction
    forced = prediction is not None and prediction.how is How.FLAG
    oracle = case.after.surface.oracle(prediction.oracle) if prediction is not None else None
    flag = oracle.flag if forced and oracle is not None else ""
    return Change(
        bite=Bite.WONT_START,
        subject=subject,
        message=f"vllm refuses: {error}",
        rests_on=_SELECTION,
        before=_name(old),
        after="nothing",
        edits=(Edit(Action.DROP, flag),) if flag else (),
        confidence=prediction.confidence if prediction is not None else Confidence.SHOWN,
        evidence=prediction.evidence[:2] if prediction is not None else (),
    )


def _works_now(subject: str, error: str, new: LayerProof) -> Change:
    return Change(
        bite=Bite.LIFTED,
        subject=subject,
        message=f"was refused ({error}), gets {_name(new) or 'a kernel'} now",
        rests_on=_SELECTION,
        before="nothing",
        after=_name(new),
    )


def _another(subject: str, old: LayerProof, new: LayerProof, *, delivery: bool) -> Change:
    if not delivery:
        delivered = "its device code was not looked at"
    elif new.verdict is Verdict.FAIL:
        delivered = f"not delivered: {new.reason}"
    else:
        delivered = new.reason
    prediction = new.prediction
    picks = f"{_name(new) or 'another pick'} instead of {_name(old) or 'the old one'}"
    return Change(
        bite=Bite.WONT_START if delivery and new.verdict is Verdict.FAIL else Bite.KERNEL,
        subject=subject,
        message=f"{picks}; {delivered}",
        rests_on=_SELECTION,
        before=_name(old),
        after=_name(new),
        confidence=prediction.confidence if prediction is not None else Confidence.INFERRED,
        evidence=prediction.evidence[:2] if prediction is not None else (),
    )


def _undelivered(subject: str, new: LayerProof) -> Change:
    return Change(
        bite=Bite.WONT_START,
        subject=subject,
        message=f"the same pick, and it is no longer delivered: {new.reason}",
        rests_on=_SELECTION,
        before=_name(new),
        after=_name(new),
    )
