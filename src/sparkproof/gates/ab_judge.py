"""What the pairs of an A/B run say: derived from the stored pairs alone, so it can be done again.

One token that no rounding explains is enough for *corrupts*, as long as the control shows none
against itself and is not the one that has nothing right. Scores decide by the exact sign test of
each cell, shared out over all cells and treatments, so that all of them together raise a false
alarm in one run of twenty at most.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import msgspec

from sparkproof.core.ab import DivergenceClass, Effect
from sparkproof.core.observations.ab_run import AbDeath, AbPlan
from sparkproof.core.results.ab import (
    AbOutcome,
    AbPair,
    AbResult,
    Accuracy,
    CellCounts,
    Treatment,
)
from sparkproof.gates.ab import BY_SCORES, alpha_of, percent
from sparkproof.gates.ab_arms import change_of
from sparkproof.gates.ab_death import dies_words
from sparkproof.gates.ab_divergence import classify, count_classes, effect_of
from sparkproof.gates.ab_speed import speed_changes, speed_doubts, speed_words
from sparkproof.gates.ab_statistics import ALPHA, detectable_rate, mcnemar_p, paired_difference

_FEW_SHARE = 0.95
_Doubt = tuple[str, str]


def derive(result: AbResult) -> AbResult:
    """The result with everything that follows from its pairs and passes."""
    pairs = tuple(_again(pair) for pair in result.pairs)
    noise = cells_of([pair for pair in pairs if pair.arm == 0], scored=False)
    fresh = msgspec.structs.replace(result, pairs=pairs, noise=noise)
    if result.refusals or not result.arms:
        return msgspec.structs.replace(fresh, treatments=())
    treatments = tuple(_treatment(fresh, arm) for arm in range(1, len(result.arms)))
    return msgspec.structs.replace(fresh, treatments=treatments)


def _again(pair: AbPair) -> AbPair:
    seen = pair.divergence
    if seen is None or seen.control is None:
        return pair
    return msgspec.structs.replace(pair, divergence=classify(seen))


def cells_of(pairs: Sequence[AbPair], *, scored: bool = True) -> tuple[CellCounts, ...]:
    """Counts of each cell that has a pair.

    Args:
        scored: test the scores; a second asking of the control is neither better nor worse.
    """
    return tuple(
        _counts(cell, [pair for pair in pairs if pair.cell == cell], scored)
        for cell in sorted({pair.cell for pair in pairs})
    )


def _counts(cell: int, pairs: list[AbPair], scored: bool) -> CellCounts:
    whole = [pair for pair in pairs if not pair.failed]
    effects = [effect_of(pair.first, pair.second) for pair in whole]
    told = [
        (pair.divergence.kind, effect)
        for pair, effect in zip(whole, effects, strict=True)
        if pair.divergence is not None
    ]
    broke, mended = effects.count(Effect.BROKE), effects.count(Effect.MENDED)
    return CellCounts(
        cell=cell,
        pairs=len(pairs),
        classes=count_classes(told) if told else (),
        failed=len(pairs) - len(whole),
        scored=len(effects) - effects.count(Effect.UNSCORED),
        broke=broke,
        mended=mended,
        p_value=mcnemar_p(broke, mended) if scored else 1.0,
    )


def _treatment(result: AbResult, arm: int) -> Treatment:
    pairs = [pair for pair in result.pairs if pair.arm == arm]
    cells = cells_of(pairs)
    worst = min(cells, key=lambda c: c.p_value, default=None)
    accuracy = tuple(_accuracy(pairs))
    doubts = tuple(_doubts(result, arm, cells, accuracy))
    corrupted = len({p.task for p in pairs if _is(p, DivergenceClass.CORRUPTION)})
    treatment = Treatment(
        arm=arm,
        outcome=AbOutcome.INCONCLUSIVE,
        doubts=doubts,
        prompts=min((c.pairs - c.failed for c in cells), default=0),
        corrupted=corrupted,
        loss=paired_difference(worst.broke, worst.mended, worst.scored)
        if worst and worst.scored
        else None,
        cells=cells,
        accuracy=accuracy,
        speed=speed_changes(result, arm) if result.plan.speed else (),
        speed_doubts=speed_doubts(result, arm) if result.plan.speed else (),
        fingerprint=change_of(result.arms[0], result.arms[arm]),
        death=_death_of(result, arm),
    )
    seen = msgspec.structs.replace(
        treatment,
        outcome=_outcome(result, treatment),
        detectable=_detectable(result, treatment),
    )
    return msgspec.structs.replace(seen, sentence=_sentence(result, seen))


def _death_of(result: AbResult, arm: int) -> AbDeath | None:
    """The treatment's own; a server that is asked twice dies in both arms."""
    if result.plan.aa:
        return None
    return next((death for death in result.deaths if death.arm == arm), None)


def _is(pair: AbPair, kind: DivergenceClass) -> bool:
    return pair.divergence is not None and pair.divergence.kind is kind


def sound_control(result: AbResult) -> bool:
    """The control said nothing, twice asked, that rounding does not explain."""
    return not any(cell.of(DivergenceClass.CORRUPTION) for cell in result.noise)


def by_tokens(result: AbResult, cells: Sequence[CellCounts]) -> bool:
    """One sure token is enough: the pairs tell, and the control is sound."""
    told = any(row.count for cell in cells for row in cell.classes)
    return told and not result.plan.differ and sound_control(result)


def _outcome(result: AbResult, seen: Treatment) -> AbOutcome:
    alpha = alpha_of(len(result.plan.cells), len(result.plan.arms) - 1)
    worse = any(cell.p_value <= alpha for cell in seen.cells)
    unsound = not sound_control(result)
    if unsound and result.plan.aa:
        return AbOutcome.INCONCLUSIVE
    # of a control that is wrong everywhere, another token says nothing where the treatment is right
    mended = none_right(seen.accuracy) and any(row.treatment for row in seen.accuracy)
    if worse or (seen.corrupted and not unsound and not mended):
        return AbOutcome.CORRUPTS
    if seen.death is not None:
        return AbOutcome.DIES
    if seen.doubts or not seen.cells:
        return AbOutcome.INCONCLUSIVE
    apart = sum(c.pairs - c.failed - c.of(DivergenceClass.IDENTICAL) for c in seen.cells)
    if result.plan.differ:
        apart = sum(c.broke + c.mended for c in seen.cells)
    return AbOutcome.HARMLESS if apart else AbOutcome.NO_DIFFERENCE


def none_right(accuracy: Sequence[Accuracy]) -> bool:
    """Tasks were scored, and the control has not one of them right."""
    return bool(accuracy) and not any(row.control for row in accuracy)


def _detectable(result: AbResult, treatment: Treatment) -> float | None:
    plan = result.plan
    if treatment.prompts < 1:
        return None
    noise = 0.0
    if not by_tokens(result, treatment.cells):
        asked = sum(cell.scored for cell in result.noise)
        flipped = sum(cell.broke + cell.mended for cell in result.noise)
        noise = max(BY_SCORES, flipped / asked if asked else 0.0)
    alpha = alpha_of(len(plan.cells), len(plan.arms) - 1)
    return detectable_rate(treatment.prompts, plan.power, alpha, min(noise, 0.99))


def _doubts(
    result: AbResult, arm: int, cells: Sequence[CellCounts], accuracy: Sequence[Accuracy]
) -> Iterator[_Doubt]:
    """What keeps anybody from saying that nothing is wrong."""
    plan, name = result.plan, result.plan.arms[arm]
    yield from _control_doubts(result, accuracy)
    if failed := sum(cell.failed for cell in cells):
        why = next(p.failed for p in result.pairs if p.arm == arm and p.failed)
        yield "ab/failed-requests", f"{failed} answers of a pair did not come back whole: {why}"
    for other in (0, arm):
        if restarts(result, other):
            yield "ab/restarted", f"{result.plan.arms[other]} was restarted while it was asked"
    wanted = plan.prompts * len(plan.cells)
    if (pairs := sum(cell.pairs for cell in cells)) < _FEW_SHARE * wanted:
        lost = next((p for p in result.passes if p.failed and p.arm in (0, arm)), None)
        why = f"; the {plan.arms[lost.arm]} failed: {lost.fault}" if lost and lost.fault else ""
        yield "ab/few-pairs", f"{pairs} of {wanted} answers of {name} have a partner{why}"
    mute = sum(p.divergence is not None and p.divergence.at >= 0 and _mute(p) for p in result.pairs)
    unknown = [
        p
        for p in result.pairs
        if p.arm == arm
        and _is(p, DivergenceClass.UNKNOWN)
        and effect_of(p.first, p.second) is Effect.BROKE
    ]
    if unknown:
        rest = "; the server gives no log-probabilities" if mute else ""
        message = f"{len(unknown)} answers went wrong, and nobody can tell by rounding or not{rest}"
        yield "ab/unexplained", message
    if plan.differ and not any(cell.scored for cell in cells):
        yield "ab/no-scores", "no task has a score, and the checkpoints are meant to differ"


def _control_doubts(result: AbResult, accuracy: Sequence[Accuracy]) -> Iterator[_Doubt]:
    """Why the control is none."""
    if not sound_control(result):
        bad = sum(cell.of(DivergenceClass.CORRUPTION) for cell in result.noise)
        asked = sum(cell.pairs for cell in result.noise)
        yield "ab/unsound-control", f"the control contradicts itself in {bad} of {asked} answers"
    dead = next((death for death in result.deaths if death.arm == 0), None)
    if dead is not None:
        yield "ab/control-died", f"the control died {dies_words(dead, result.plan)}"
    if none_right(accuracy) and not result.plan.aa:  # noise is told by tokens all the same
        yield "ab/none-right", none_right_words(accuracy)


def none_right_words(accuracy: Sequence[Accuracy]) -> str:
    """``the control has none of 40 scored answers right, nor has the treatment``."""
    scored = sum(row.scored for row in accuracy)
    right = sum(row.treatment for row in accuracy)
    both = f", the treatment has {right}" if right else ", nor has the treatment"
    return f"the control has none of {scored} scored answers right{both}"


def _mute(pair: AbPair) -> bool:
    sides = (pair.divergence.control, pair.divergence.treatment) if pair.divergence else ()
    return not any(side is not None and side.nats is not None for side in sides)


def restarts(result: AbResult, arm: int) -> int:
    """How often another process took over between two passes of an arm, or within one."""
    passes = [p for p in result.passes if p.arm == arm]
    inside = sum(bool(p.window and p.window.restarted) for p in passes)
    starts = [p.start_s for p in passes if p.start_s is not None]
    return max(inside, sum(a != b for a, b in itertools.pairwise(starts)))


def _accuracy(pairs: Sequence[AbPair]) -> Iterator[Accuracy]:
    scored = [p for p in pairs if p.first is not None and p.second is not None]
    for kind in sorted({pair.task_kind for pair in scored}):
        same = [p for p in scored if p.task_kind == kind]
        yield Accuracy(
            task_kind=kind,
            scored=len(same),
            control=sum(bool(p.first and p.first.exact) for p in same),
            treatment=sum(bool(p.second and p.second.exact) for p in same),
        )


def _sentence(result: AbResult, treatment: Treatment) -> str:
    """``faster by 27 % at 8, no corruption seen, could have seen 1 %``."""
    quality = quality_words(treatment, result.plan)
    if not result.plan.speed or treatment.outcome is AbOutcome.DIES:
        return quality
    if treatment.speed_doubts:
        return f"{quality}; speed inconclusive ({treatment.speed_doubts[0]})"
    return ", ".join(filter(None, (speed_words(result, treatment), quality)))


def quality_words(treatment: Treatment, plan: AbPlan) -> str:
    """``no difference seen, could have seen 1 %``."""
    if treatment.death is not None and treatment.outcome is AbOutcome.DIES:
        return f"dies {dies_words(treatment.death, plan)}"
    return _QUALITY[treatment.outcome](treatment)


def _could(treatment: Treatment) -> str:
    seen = treatment.detectable
    return f"could have seen {percent(seen)}" if seen is not None else "could have seen nothing"


def _no_difference(treatment: Treatment) -> str:
    return f"no difference seen, {_could(treatment)}"


def _harmless(treatment: Treatment) -> str:
    ties = sum(cell.of(DivergenceClass.NEAR_TIE) for cell in treatment.cells)
    pairs = sum(cell.pairs for cell in treatment.cells)
    told = f" ({ties} of {pairs} answers part at a near-tie)" if ties else ""
    return f"differs harmlessly{told}, no corruption seen, {_could(treatment)}"


def _corrupts(treatment: Treatment) -> str:
    worst = min(treatment.cells, key=lambda c: c.p_value)
    parts = []
    if treatment.corrupted:
        parts.append(f"{treatment.corrupted} of {treatment.prompts} prompts lose a sure token")
    if worst.broke > worst.mended:
        lost, won = (sum(getattr(c, n) for c in treatment.cells) for n in ("broke", "mended"))
        chance = f", p {worst.p_value:.2g} in one cell" if worst.p_value < ALPHA else ""
        parts.append(f"{lost} right answers lost, {won} won{chance}")
    return f"corrupts: {'; '.join(parts)}"


def _inconclusive(treatment: Treatment) -> str:
    return f"inconclusive: {'; '.join(m for _, m in treatment.doubts) or 'nothing to compare'}"


_QUALITY: dict[AbOutcome, Callable[[Treatment], str]] = {
    AbOutcome.NO_DIFFERENCE: _no_difference,
    AbOutcome.HARMLESS: _harmless,
    AbOutcome.CORRUPTS: _corrupts,
    AbOutcome.INCONCLUSIVE: _inconclusive,
}
