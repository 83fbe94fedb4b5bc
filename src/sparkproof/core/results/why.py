"""Payload of ``sparkproof why``: how the request was put, what came back, and the one cause."""

from __future__ import annotations

import msgspec

from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.server_snapshot import Served, Window


class WhyResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that was tried.

    Attributes:
        request: the body that was replayed, as JSON text.
        path: it was put to.
        given: it came from the user; else it is a plain question of ours.
        exchanges: labelled ``direct/whole``, ``direct/stream``, ``gateway/...``, ``direct/large``
            (a larger budget), ``direct/quiet`` (no thinking), ``direct/raw`` (past the parsers).
        answer_rules: the rule that each answer breaks, by label ("" for a sound one).
        window: what the server counted meanwhile.
        health: status of ``/health`` before; 0 where nothing answered.
        health_after: the same after a line broke; -1 where none did.
        waited_s: how long the agent waited, as the user says.
        could_not: ways of looking that were not open, and why.
        rule: of the cause; "" where none was found.
    """

    address: str
    gateway: str = ""
    path: str = ""
    request: str = ""
    given: bool = False
    version: str = ""
    health: int = 0
    health_after: int = -1
    models: tuple[Served, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    answer_rules: dict[str, str] = {}
    window: Window | None = None
    waited_s: float = 0.0
    could_not: tuple[str, ...] = ()
    rule: str = ""
    interrupted: bool = False

    def exchange(self, label: str) -> Exchange | None:
        """The one of that label."""
        return next((e for e in self.exchanges if e.label == label), None)


DOCUMENTS = {"why": WhyResult}
