"""Payload of ``sparkproof ab``: the arms, every pair of answers, and what follows from them."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.ab import ClassShare, Divergence, DivergenceClass, Interval, Score, SpeedRatio
from sparkproof.core.identities import Identities
from sparkproof.core.observations.ab_run import AbDeath, AbPass, AbPlan
from sparkproof.core.observations.fingerprint import Fingerprint, FingerprintChange
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.results.compare import Relation


class AbOutcome(StrEnum):
    """What may be said about one treatment."""

    NO_DIFFERENCE = "no-difference"
    HARMLESS = "differs-harmlessly"
    CORRUPTS = "corrupts"
    DIES = "dies"
    INCONCLUSIVE = "inconclusive"


class AbArm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One arm as it showed itself before it was asked.

    Attributes:
        name: ``control``, ``treatment`` or ``treatment 2``.
        token_ids: what its tokenizer makes of fixed texts, one tuple each; empty where it does
            not tell.
        system_fingerprint: of its answers.
    """

    name: str
    snapshot: ServerSnapshot
    model: str = ""
    token_ids: tuple[tuple[int, ...], ...] = ()
    fingerprint: Fingerprint | None = None
    system_fingerprint: str = ""
    identities: Identities = Identities()


class AbPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two answers to one prompt: the control's, and that of `arm`.

    Attributes:
        arm: 0 where both are the control's own.
        cell: index into the plan's cells.
        divergence: where they part; None where an answer did not come back whole, or where the
            arms are meant to differ in their checkpoint.
        failed: what was wrong with the one that did not; "" for two whole answers.
        first, second: the scores of the control's and of the other one; None for a probe.
        first_text, second_text: shortened, where the answers differ.
    """

    arm: int
    task: str
    task_kind: str
    cell: int
    round: int
    divergence: Divergence | None = None
    failed: str = ""
    first: Score | None = None
    second: Score | None = None
    first_text: str = ""
    second_text: str = ""


class CellCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the pairs of one cell fell out.

    Attributes:
        cell: index into the plan's cells.
        classes: of the whole pairs, one row a class.
        failed: pairs with an answer that did not come back whole.
        broke, mended: right in the control alone, in the other one alone.
        p_value: of that many broken ones or more by chance, one-sided, exact; 1 in the noise.
    """

    cell: int
    pairs: int
    classes: tuple[ClassShare, ...] = ()
    failed: int = 0
    scored: int = 0
    broke: int = 0
    mended: int = 0
    p_value: float = 1.0

    def of(self, kind: DivergenceClass) -> int:
        """How many are of one class."""
        return next((row.count for row in self.classes if row.kind is kind), 0)


class Accuracy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Right answers of both arms to the same prompts of one kind, all cells together."""

    task_kind: str
    scored: int
    control: int
    treatment: int


class SpeedChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One figure of a cell, treatment by control.

    Attributes:
        name: ``decode`` (tokens/s of one stream) or ``TTFT`` (s).
        control, treatment: medians of each round.
    """

    cell: int
    name: str
    control: tuple[float, ...]
    treatment: tuple[float, ...]
    change: SpeedRatio

    @property
    def beyond(self) -> bool:
        """The interval leaves no room for 1."""
        room = self.change.interval
        return room is not None and not room.low <= 1 <= room.high


class Treatment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the pairs say about one treatment.

    Attributes:
        sentence: quality and speed in one.
        doubts: (rule, message) of what keeps the answer back.
        prompts: asked in every cell.
        detectable: the smallest share of corrupted answers that would have been seen; None if none.
        corrupted: prompts with a token that no rounding explains, in any cell.
        loss: of accuracy, the control's less the treatment's, in the cell with the lowest p-value.
        cells: that were compared.
        speed_doubts: why its speed is no measurement.
        fingerprint: how far its log-probabilities lie from the control's.
        death: it died of what it was asked, while the control lived.
        relation, reason, experiments: what may be said about the cause.
    """

    arm: int
    outcome: AbOutcome
    sentence: str = ""
    doubts: tuple[tuple[str, str], ...] = ()
    prompts: int = 0
    detectable: float | None = None
    corrupted: int = 0
    loss: Interval | None = None
    cells: tuple[CellCounts, ...] = ()
    accuracy: tuple[Accuracy, ...] = ()
    speed: tuple[SpeedChange, ...] = ()
    speed_doubts: tuple[str, ...] = ()
    fingerprint: FingerprintChange | None = None
    death: AbDeath | None = None
    relation: Relation | None = None
    reason: str = ""
    experiments: tuple[str, ...] = ()


class AbResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole A/B run.

    Attributes:
        refusals: (rule, message) of why it was not run: another tokenizer, another checkpoint.
        deaths: arms that died meanwhile, in that order.
        noise: how the control fell out against itself; `pairs` with arm 0 stand behind it.
        records: name of the file that holds every answer; `records_digest` of its content.
        answered: answers that came back whole.
        resumed_after: answers that an earlier, interrupted run had left; 0 for none.
        interrupted: somebody stopped it; what was answered is here.
    """

    plan: AbPlan
    arms: tuple[AbArm, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()
    passes: tuple[AbPass, ...] = ()
    pairs: tuple[AbPair, ...] = ()
    deaths: tuple[AbDeath, ...] = ()
    noise: tuple[CellCounts, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    records: str = ""
    records_digest: str = ""
    answered: int = 0
    resumed_after: int = 0
    interrupted: bool = False


DOCUMENTS = {"ab": AbResult}
