"""Payload of ``sparkproof smoke``: all that its verdict rests on, to be judged again later."""

from __future__ import annotations

import msgspec

from sparkproof.core.observations.exchange import Exchange
from sparkproof.core.observations.fingerprint import Fingerprint, FingerprintChange
from sparkproof.core.observations.server_snapshot import ServerSnapshot, Window


class FirstCost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One shape: the first request of its kind, and the next one.

    Attributes:
        first_s, again_s: until the answer was whole; -1 where it did not come.
    """

    shape: str
    first_s: float
    again_s: float


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the deployment, the artifact or the user promised; empty and None promise nothing.

    Attributes:
        version: of vLLM.
        version_from: who says so.
        names: served names.
        drafts: speculation was configured.
    """

    version: str = ""
    version_from: str = ""
    names: tuple[str, ...] = ()
    tool_parser: str = ""
    reasoning_parser: str = ""
    drafts: bool | None = None
    kv_dtype: str = ""
    prefix_caching: bool | None = None


class LogSays(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the boot log adds; None and 0 where it does not tell.

    Attributes:
        largest_graph: tokens of the largest batch that a graph was captured for.
    """

    async_scheduling: bool | None = None
    async_why: str = ""
    eager: bool | None = None
    largest_graph: int = 0
    max_num_seqs: int = 0
    speculative_tokens: int = 0


class SmokeResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked, what came back.

    Attributes:
        model: the name that was used.
        window: over predictable text, on which any drafter finds something to guess.
        prefix_window: over the second of two requests with one prefix.
        prefix_tokens: that both shared.
        answer_rules: the rule that each chat's answer breaks, by label ("" for a sound one).
        warm_only: only the warm-up was asked for.
        interrupted: somebody stopped it; what was not asked is not there.
    """

    snapshot: ServerSnapshot
    model: str = ""
    gateway: str = ""
    warm_only: bool = False
    interrupted: bool = False
    expected: Expected = Expected()
    log: LogSays | None = None
    costs: tuple[FirstCost, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    answer_rules: dict[str, str] = {}
    window: Window | None = None
    prefix_window: Window | None = None
    prefix_tokens: int = 0
    fingerprint: Fingerprint | None = None
    change: FingerprintChange | None = None


DOCUMENTS = {"smoke": SmokeResult}
