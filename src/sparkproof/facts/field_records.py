"""Field reports as data: what worked, failed or answered wrong, for which picks."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.core.field_report import Effect, FieldRecord, FieldReport
from sparkproof.facts.book import load_folder
from sparkproof.facts.fallback import Fallback, find_fallback
from sparkproof.facts.releases import holds


class Pick(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a record may be asked about.

    Attributes:
        implementation: class behind the backend ("" where nothing is selected).
        subject: layer class.
        release: vLLM version.
        toolkit: CUDA toolkit that built the artifact, e.g. ``13.0.88`` ("" where not looked at).
        major: of the device's compute capability.
        family: model family ("" for unknown).
        parallel: tensor parallel over several GPUs.
        schemes_beside: schemes of the checkpoint's other layers.
    """

    implementation: str
    subject: str
    scheme: str
    release: str
    toolkit: str
    major: int
    family: str = ""
    kv_dtype: str = "auto"
    speculative: bool = False
    parallel: bool = False
    schemes_beside: tuple[str, ...] = ()


class KnownIssue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: the record, and which picks it speaks of; every list is "any" where empty.

    Attributes:
        backends: classes behind the backend, as the release's source spells them.
        subjects: layer classes.
        toolkit: PEP 440 specifier over the CUDA toolkit; a pick whose toolkit is not known is
            not spoken of.
        majors: capability majors on which it can happen.
        families: model families it was seen with.
        speculative, parallel: only with it, or only without; either where it is left out.
        beside: only where the checkpoint has layers of one of these schemes too.
        ways: ids of the fallbacks that the remedy comes down to, where it can be typed.
    """

    id: str
    title: str
    effect: Effect
    releases: str
    certain: bool
    checked: date
    reports: tuple[FieldReport, ...]
    cause: str = ""
    remedy: str = ""
    backends: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    toolkit: str = ""
    majors: tuple[int, ...] = ()
    families: tuple[str, ...] = ()
    kv_dtypes: tuple[str, ...] = ()
    speculative: bool | None = None
    parallel: bool | None = None
    beside: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()

    def speaks_of(self, pick: Pick) -> bool:
        """Whether the pick is the one that was reported."""
        lists = (
            (self.backends, pick.implementation),
            (self.subjects, pick.subject),
            (self.schemes, pick.scheme),
            (self.families, pick.family),
            (self.kv_dtypes, pick.kv_dtype),
        )
        if any(wanted and value not in wanted for wanted, value in lists):
            return False
        if self.majors and pick.major not in self.majors:
            return False
        switches = ((self.speculative, pick.speculative), (self.parallel, pick.parallel))
        if any(wanted is not None and wanted is not value for wanted, value in switches):
            return False
        if self.beside and not set(self.beside) & set(pick.schemes_beside):
            return False
        if self.toolkit and not (pick.toolkit and holds(self.toolkit, pick.toolkit)):
            return False
        return holds(self.releases, pick.release)

    @property
    def record(self) -> FieldRecord:
        """What is told about it."""
        return FieldRecord(
            id=self.id,
            title=self.title,
            effect=self.effect,
            cause=self.cause,
            remedy=self.remedy,
            releases=self.releases,
            certain=self.certain,
            checked=self.checked,
            reports=self.reports,
        )


@cache
def known_issues() -> tuple[KnownIssue, ...]:
    """All of them, in the order of their files."""
    return load_folder("known_issues", KnownIssue)


def records_of(pick: Pick) -> tuple[FieldRecord, ...]:
    """What is known about a pick: what speaks against it first."""
    found = [item.record for item in known_issues() if item.speaks_of(pick)]
    return tuple(sorted(found, key=lambda record: not record.bad))


def ways_around(record: FieldRecord) -> tuple[Fallback, ...]:
    """What the remedy of a record comes down to, as something to type; empty where it can't be."""
    named = (name for item in known_issues() if item.id == record.id for name in item.ways)
    return tuple(map(find_fallback, named))
