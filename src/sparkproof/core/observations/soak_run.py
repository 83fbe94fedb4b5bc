"""A soak: what was planned, and the records that it writes as it goes."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.observations.ab_run import Token
from sparkproof.core.observations.server_snapshot import EngineCounts


class Kind(StrEnum):
    """What one request is like."""

    RAW = "raw"
    ANSWER = "answer"
    """A chat without thinking."""
    THINKING = "thinking"
    TOOLS = "tools"
    PROBE = "probe"
    """A raw question whose answer was looked at when nothing else ran."""


class Outcome(StrEnum):
    """How one request ended."""

    OK = "ok"
    ENGINE_DEAD = "engine-dead"
    ILLEGAL_ACCESS = "illegal-access"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    SILENT = "silent"
    """Not one token in all our patience, or an answer without any."""
    TRUNCATED = "truncated"
    """The stream or the line broke before its end."""
    HTTP_ERROR = "http-error"
    GARBAGE = "garbage"
    CORRUPTED = "corrupted"
    """A probe, right alone, is wrong under load from a token on that the model was sure of."""
    NOT_TAKEN = "not-taken"
    """A kind that the server declines even alone; it is not asked again, and no failure."""


WRONG_TEXT = frozenset({Outcome.GARBAGE, Outcome.CORRUPTED})
"""Whole answers, as far as the line goes."""


class SoakPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that decides what is asked: request number *n* follows from the plan alone.

    Lengths are in tokens.

    Attributes:
        requests: how many; 0 where `duration_s` decides.
        kinds: taken in turns; probes come in between.
        prompt_low, prompt_high: lengths are drawn evenly on a logarithmic scale.
        shared_prefix: share of requests that begin with the same `prefix_tokens`.
        preempt: lengths were computed to overfill the pool of `pool_tokens`.
        words_per_token: of our prose, by the server's own count.
        alone: the first so many requests are put one by one, each kind and each probe: what the
            server does under load is held against that.
    """

    model: str
    seed: str
    concurrency: int
    requests: int
    duration_s: float
    kinds: tuple[Kind, ...]
    prompt_low: int
    prompt_high: int
    output_low: int
    output_high: int
    timeout_s: float
    words_per_token: float
    shared_prefix: float = 0.0
    prefix_tokens: int = 0
    preempt: bool = False
    pool_tokens: int = 0
    max_model_len: int = 0
    alone: int = 0

    @property
    def last(self) -> int:
        """Requests in all, those that are put alone among them; 0 where the time decides."""
        return max(self.requests, self.alone + self.concurrency) if self.requests else 0

    @property
    def longest(self) -> int:
        """Tokens of the longest request, prompt and answer."""
        return self.prefix_tokens + self.prompt_high + self.output_high


class SoakRecord(
    msgspec.Struct, frozen=True, kw_only=True, tag="request", forbid_unknown_fields=True
):
    """One request.

    Attributes:
        n: its number in the plan.
        at: when it was sent, seconds since the epoch.
        ttft_s: until the first token of a stream; -1 where it was none or none came.
        name: the probe's, or the kind's.
        sound: the answer looks like text; `detail` says why not.
        held: a probe's answer holds what it should; None for other kinds.
        tie: a probe's answer parts from the one alone where two tokens were nearly as likely.
        tokens: of a probe asked alone, for those under load to be held against.
        said: the beginning of the SHA-256 of its text.
    """

    n: int
    kind: Kind
    name: str
    at: float
    seconds: float
    outcome: Outcome
    status: int = 0
    detail: str = ""
    streamed: bool = False
    shared: bool = False
    ttft_s: float = -1.0
    prompt_tokens: int = -1
    completion_tokens: int = -1
    cached_tokens: int = -1
    sound: bool = True
    held: bool | None = None
    tie: bool = False
    tokens: tuple[Token, ...] = ()
    said: str = ""


class WatchRecord(
    msgspec.Struct, frozen=True, kw_only=True, tag="watch", forbid_unknown_fields=True
):
    """One look at the server while it is asked.

    Attributes:
        health: status of ``/health``; 0 where nothing answered.
        counts: of ``/metrics``, without the cache's labels; None where there were none.
        in_flight: most of our own requests at once since the look before.
        rss_bytes: of the server's process and its children; -1 where it can't be seen.
        processes: how many those are.
        log_bytes, log_errors: new in the log since this session began.
    """

    at: float
    health: int
    counts: EngineCounts | None = None
    in_flight: int = 0
    rss_bytes: int = -1
    processes: int = 0
    log_bytes: int = 0
    log_errors: int = 0


class SessionRecord(
    msgspec.Struct, frozen=True, kw_only=True, tag="session", forbid_unknown_fields=True
):
    """A run began, or went on.

    Attributes:
        start_s: when the server's process started, as it says; None where it does not.
        done: requests that earlier sessions had finished.
        others: what was seen of other traffic before anything was asked ("" for none).
    """

    at: float
    version: str = ""
    start_s: float | None = None
    done: int = 0
    others: str = ""


class Ending(StrEnum):
    """Why a session stopped asking."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    GONE = "gone"
    """Nothing answers any more, or the engine is dead."""
    STUCK = "stuck"
    """Too many failures in a row."""
    KILLED = "killed"
    """Its records end without any of these."""


class EndRecord(msgspec.Struct, frozen=True, kw_only=True, tag="end", forbid_unknown_fields=True):
    """A session is over."""

    at: float
    ending: Ending


Record = SoakRecord | WatchRecord | SessionRecord | EndRecord
