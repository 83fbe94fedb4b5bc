"""Payload of ``sparkproof soak``: totals of all records, to be judged again later.

The records themselves lie in a file of their own (`records`), so that a run of hours needs no
more memory than one of minutes.
"""

from __future__ import annotations

import msgspec

from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.observations.soak_run import Ending, Kind, Outcome, SoakPlan
from sparkproof.core.results.log import Cause


class KindCount(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requests of one kind. Seconds are of whole answers that came; None for none."""

    kind: Kind
    requests: int
    failed: int
    p50_s: float | None = None
    p99_s: float | None = None
    longest_s: float | None = None
    ttft_p50_s: float | None = None
    ttft_p99_s: float | None = None


class FailureSeen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way in which requests failed.

    Attributes:
        n: the first request that ended so.
        into_s: seconds of asking until it did.
        detail: what came back for it.
    """

    outcome: Outcome
    count: int
    n: int
    kind: Kind
    into_s: float
    detail: str = ""


class Pressure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the server went through, by its own counters and gauges; None where it does not tell.

    Attributes:
        scrapes: looks that gave counters.
        kv_peak: highest share of the KV pool seen in use, 0 to 1.
        running_peak, waiting_peak: most requests seen at once.
        longest_tokens: of one request, prompt and answer, as the server counted them.
        in_flight_peak: of our own requests.
    """

    scrapes: int = 0
    kv_peak: float | None = None
    running_peak: float | None = None
    waiting_peak: float | None = None
    preemptions: float | None = None
    prefix_queries: float | None = None
    prefix_hits: float | None = None
    drafts: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    finished: float | None = None
    generated_tokens: float | None = None
    longest_tokens: int = 0
    in_flight_peak: int = 0


class TimeBin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of asking; gauges are the highest seen in it, -1 for none.

    Attributes:
        start_s: seconds of asking, breaks between sessions left out.
        busy_s: seconds that its requests took, all together.
    """

    start_s: float
    requests: int = 0
    failed: int = 0
    busy_s: float = 0.0
    preemptions: float = 0.0
    kv_usage: float = -1.0
    running: float = -1.0
    waiting: float = -1.0
    rss_bytes: int = -1


class SessionSeen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stretch without a break.

    Attributes:
        done: requests finished before it.
        start_s: of the server's process.
        anew: it began with another process of the server than the one before ended with.
        restarted: the process changed while it went on.
        others: traffic that was there before ours ("" for none).
    """

    done: int
    seconds: float
    ending: Ending
    start_s: float | None = None
    anew: bool = False
    restarted: bool = False
    others: str = ""


class ProcessSeen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server's process and its children; memory is resident, first and last seen.

    Attributes:
        name: as the system calls it; a proxy's where one listens in the server's place.
    """

    pid: int
    name: str = ""
    first_rss_bytes: int = -1
    last_rss_bytes: int = -1
    peak_rss_bytes: int = -1
    gone: bool = False


class LogSeen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the server's log gained.

    Attributes:
        followed: while the soak ran; else it was read once, if something failed.
        errors: lines that say ERROR, CRITICAL, or begin a traceback.
        first_error: the first of them.
        cause: what the log says of a failure.
        saw: its first error, where it names no cause.
    """

    name: str
    new_bytes: int
    followed: bool = True
    errors: int = 0
    first_error: str = ""
    cause: Cause | None = None
    saw: str = ""


class ClientCost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What this run cost here, this session only: processor seconds, highest memory."""

    cpu_s: float
    peak_rss_bytes: int


class SoakResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole soak, over all of its sessions.

    Attributes:
        records: name of the file that holds every request.
        requests: finished, whatever came of them.
        seconds: of asking, breaks left out.
        health: status of ``/health`` at the end; 0 where nothing answered.
        probes: asked under load, of those that held what they should when asked alone; `held`
            of them still did, `ties` of them part at a near-tie.
        held_alone: probes that held what they should when asked alone.
        sound_alone: kinds and probes whose answer looked like text when asked alone.
        not_taken: kinds that the server declines even alone, with its reason.
        others: requests that the server finished and we did not send.
        loaded: other traffic ran beside.
        interrupted: somebody stopped it; the records are kept.
    """

    snapshot: ServerSnapshot
    plan: SoakPlan
    records: str
    requests: int = 0
    ok: int = 0
    seconds: float = 0.0
    health: int = 0
    kinds: tuple[KindCount, ...] = ()
    failures: tuple[FailureSeen, ...] = ()
    pressure: Pressure = Pressure()
    timeline: tuple[TimeBin, ...] = ()
    sessions: tuple[SessionSeen, ...] = ()
    probes: int = 0
    held: int = 0
    ties: int = 0
    held_alone: tuple[str, ...] = ()
    sound_alone: tuple[str, ...] = ()
    not_taken: dict[str, str] = {}
    process: ProcessSeen | None = None
    log: LogSeen | None = None
    client: ClientCost | None = None
    others: float = 0.0
    loaded: bool = False
    interrupted: bool = False

    @property
    def ending(self) -> Ending:
        """How the last session stopped."""
        return self.sessions[-1].ending if self.sessions else Ending.INTERRUPTED


DOCUMENTS = {"soak": SoakResult}
