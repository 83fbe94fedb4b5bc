"""What ``prove --live`` adds to a proof: the running server, part by part, in one document."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.report import Report
from sparkproof.core.results.ab import AbResult
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.core.results.soak import SoakResult
from sparkproof.core.verdict import Verdict


class PartName(StrEnum):
    """The parts of a live proof, in the order in which they are done."""

    STATIC = "static"
    LOG = "log"
    MATCH = "match"
    SMOKE = "smoke"
    SOAK = "soak"
    AB = "ab"
    BENCH = "bench"


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part with its answer.

    Attributes:
        summary: its verdict in one line, or why it was left out.
        receipt: digest of its own receipt ("" for none).
        took_s: wall time, seconds; 0 where nothing was asked.
    """

    name: PartName
    verdict: Verdict
    summary: str
    receipt: str = ""
    took_s: float = 0.0


class Topic(StrEnum):
    """What a row of the comparison is about."""

    SERVER = "server"
    MEMORY = "memory"
    BACKEND = "backend"


class Match(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One predicted fact beside what the running server shows.

    Attributes:
        seen_in: route, metric or log that shows it ("" where nothing does).
        agrees: None where nothing shows it.
        exact: False for an estimate: outside of its interval warns, and does not fail.
        likely: the likeliest reason of a difference, or what would show it.
        follows: name of the row whose difference explains this one ("" for none).
    """

    topic: Topic
    name: str
    predicted: str
    seen: str = ""
    seen_in: str = ""
    agrees: bool | None = None
    exact: bool = True
    likely: str = ""
    follows: str = ""


class FactUsed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dated fact that the proof rests on. `checked` is ``YYYY-MM-DD``."""

    id: str
    source: str
    checked: str


class LiveProof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The running server held against the proof, and all that was asked of it.

    Attributes:
        server: its address, without credentials.
        quick: asked for a short run.
        parts: in order, each with its own verdict.
        matches: predicted and seen, row by row.
        exercised: what the verdict rests on, one line each.
        not_exercised: what nothing showed, one line each.
        interrupted: somebody stopped it; what was done is here.
    """

    server: str
    quick: bool = False
    parts: tuple[Part, ...] = ()
    snapshot: ServerSnapshot | None = None
    matches: tuple[Match, ...] = ()
    smoke: Report[SmokeResult] | None = None
    soak: Report[SoakResult] | None = None
    ab: Report[AbResult] | None = None
    bench: Report[BenchResult] | None = None
    exercised: tuple[str, ...] = ()
    not_exercised: tuple[str, ...] = ()
    facts: tuple[FactUsed, ...] = ()
    interrupted: bool = False

    def report(self, name: PartName) -> Report[Any] | None:
        """The report of a part that has one of its own."""
        found: Report[Any] | None = getattr(self, name.value, None)
        return found

    def part(self, name: PartName) -> Part | None:
        """The part of that name."""
        return next((item for item in self.parts if item.name is name), None)


DOCUMENTS: dict[str, type] = {}
"""None of its own: it is part of ``prove``'s."""
