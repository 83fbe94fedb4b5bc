"""What a vLLM log says, boot by boot; no opinion about what it means."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.unknown import Unknown

Value = str | int | float | bool


class Phase(StrEnum):
    """Stretches of a boot, in the order they are passed through."""

    START = "start"
    CONFIG = "config"
    ENGINE = "engine"
    DISTRIBUTED = "distributed"
    LOAD = "load"
    COMPILE = "compile"
    PROFILE = "profile"
    KV = "kv"
    CAPTURE = "capture"
    WARMUP = "warmup"
    READY = "ready"
    SHUTDOWN = "shutdown"

    @property
    def rank(self) -> int:
        """Position in the order; `SHUTDOWN` is last."""
        return _RANK[self]


_RANK = {phase: position for position, phase in enumerate(Phase)}


class Outcome(StrEnum):
    """How a boot ended, as far as its log goes."""

    SERVING = "serving"
    """Reached readiness and the log ends there."""
    STOPPED = "stopped"
    """Reached readiness and was shut down."""
    FAILED = "failed"
    """A fatal error before readiness."""
    DIED = "died"
    """A fatal error after readiness."""
    UNFINISHED = "unfinished"
    """The log ends before readiness, without an error."""


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value a log line states; the unit ends its name (``kv_available_gib``).

    Attributes:
        line: 1-based line of the input.
        process: ``EngineCore``, ``Worker_TP0`` ... ("" for none).
    """

    name: str
    value: Value
    line: int
    process: str = ""


class Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One argument or config field, as vLLM printed it (``True``, ``{'method': 'mtp'}``)."""

    name: str
    value: str


class BackendSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A choice that the log states.

    Attributes:
        layer_class: ``experts``, ``linear``, ``attention``, ``sampler`` ...
        scheme: as the line names it, e.g. ``nvfp4`` ("" where it doesn't).
        candidates: what it was chosen from, in order, where the line lists them.
        passed_over: the candidates that stand before the chosen one.
        draft: chosen while the drafter was loading.
    """

    layer_class: str
    scheme: str
    backend: str
    line: int
    candidates: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    draft: bool = False


class RefusalSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A candidate that the log says was refused; most such lines need the debug level."""

    layer_class: str
    scheme: str
    backend: str
    reason: str
    line: int


class FeatureSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A feature the log says is on or off; `why` is the line's own reason."""

    feature: str
    on: bool
    line: int
    why: str = ""


class Judgement(StrEnum):
    """What a warning is worth on a GB10."""

    MATTERS = "matters"
    HARMLESS = "harmless"
    UNKNOWN = "unknown"


class WarningSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A warning line, its first place and how often its wording came."""

    text: str
    judgement: Judgement
    why: str
    line: int
    count: int = 1


class ErrorSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An exception or error message.

    Attributes:
        kind: exception class as printed, or the level of the line.
        frames: the innermost frames of its traceback, ``file:line function``.
        after_shutdown: came after the shutdown had begun.
    """

    kind: str
    message: str
    line: int
    phase: Phase
    process: str = ""
    frames: tuple[str, ...] = ()
    count: int = 1
    after_shutdown: bool = False


class Hit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A phrase somebody asked for, found.

    Attributes:
        probe: id of the phrase.
        line: first place; `last_line` the last one.
        severe: stood in an error line or in raw output at least once.
        source, source_line: where else than in the server's log it stands ("" for there).
    """

    probe: str
    line: int
    last_line: int
    count: int
    phase: Phase
    text: str
    severe: bool = True
    after_shutdown: bool = False
    source: str = ""
    source_line: int = 0


class PhaseSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a phase was entered.

    Attributes:
        at: the log's own clock, ``MM-DD HH:MM:SS``; where the line bears none, that of the last
            line before it that was read ("" for none).
        since_start_s: seconds after the boot's first stamped line; -1 where unstamped.
    """

    phase: Phase
    line: int
    at: str = ""
    since_start_s: float = -1.0


class Traffic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the periodic lines and the access log add up to.

    Attributes:
        peak_kv_usage_pct: highest share of the pool in use, percent; -1 if never printed.
        last_prefix_hit_pct: the last prefix-cache hit rate printed, percent; -1 if never.
        last_acceptance_length: tokens a step, bonus token included; -1 if never.
        last_generation_line: the last line that states a throughput above 0; 0 if none does.
        last_answer_line: the last request that was answered well; 0 if none was.
        last_running, last_waiting: requests, by the last such line.
        failed_in_a_row: the last requests for tokens, all answered with 5xx.
        stalled_intervals: the last such lines, all without a token while requests ran.
        silent_waits: how often the engine waited in vain for a worker since it last worked.
    """

    intervals: int = 0
    peak_prompt_tokens_per_s: float = 0.0
    peak_generation_tokens_per_s: float = 0.0
    peak_running: int = 0
    peak_waiting: int = 0
    peak_kv_usage_pct: float = -1.0
    last_prefix_hit_pct: float = -1.0
    last_acceptance_length: float = -1.0
    last_draft_acceptance_pct: float = -1.0
    responses_ok: int = 0
    responses_refused: int = 0
    responses_failed: int = 0
    last_generation_line: int = 0
    last_answer_line: int = 0
    last_running: int = 0
    last_waiting: int = 0
    failed_in_a_row: int = 0
    stalled_intervals: int = 0
    silent_waits: int = 0


class BootLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One start of one server.

    Attributes:
        number: 1-based, in the order of the log, of its service.
        whole: its beginning is in the log.
        version: as the banner or the engine states it ("" if neither is there).
        command: the command line, where the log begins with one.
        reached: the last phase entered; a shutdown does not count.
        absent: facts that a boot of this kind prints by that phase and this one did not.
        started_at, last_at: the first and the last stamp, by the server's clock ("" for none).
        pids: its processes, by the count of the machine or container that they ran in.
        service: whose lines they are, where one output carries several ("" for only one).
    """

    number: int
    first_line: int
    last_line: int
    whole: bool
    version: str
    outcome: Outcome
    reached: Phase
    command: str = ""
    arguments: tuple[Argument, ...] = ()
    config: tuple[Argument, ...] = ()
    seen: tuple[Seen, ...] = ()
    backends: tuple[BackendSeen, ...] = ()
    refusals: tuple[RefusalSeen, ...] = ()
    features: tuple[FeatureSeen, ...] = ()
    phases: tuple[PhaseSeen, ...] = ()
    warnings: tuple[WarningSeen, ...] = ()
    errors: tuple[ErrorSeen, ...] = ()
    hits: tuple[Hit, ...] = ()
    traffic: Traffic = Traffic()
    absent: tuple[str, ...] = ()
    started_at: str = ""
    last_at: str = ""
    pids: tuple[int, ...] = ()
    service: str = ""

    def first(self, name: str) -> Value | None:
        """The first value stated under this name."""
        return next((item.value for item in self.seen if item.name == name), None)

    def last(self, name: str) -> Value | None:
        """The last value stated under this name."""
        return next((item.value for item in reversed(self.seen) if item.name == name), None)

    def number_of(self, name: str) -> float | None:
        """The first value under this name as a number."""
        value = self.first(name)
        return float(value) if isinstance(value, int | float) else None

    def argument(self, name: str) -> str | None:
        """An argument as vLLM parsed it, else the engine's config field."""
        for source in (self.arguments, self.config):
            for item in source:
                if item.name == name:
                    return item.value
        return None

    @property
    def fragment(self) -> bool:
        """A piece in which nothing tells how far the server came."""
        return not (self.whole or self.version or self.phases)

    @property
    def fact_count(self) -> int:
        """How many facts this boot yields: values, choices, features, phases, arguments."""
        return (
            len({item.name for item in self.seen})
            + len(self.backends)
            + len(self.refusals)
            + len(self.features)
            + len(self.phases)
            + len(self.arguments)
            + bool(self.version)
        )


class LogReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole log.

    Attributes:
        boots: the last ones, oldest first, service by service; `boots_total` counts all of them.
        recognised: lines that bear vLLM's own header or a phrase that we know.
        headed: those that bear the header, or are of the access log.
    """

    where: str
    boots: tuple[BootLog, ...]
    boots_total: int
    lines: int
    size_bytes: int
    recognised: int
    headed: int = 0
    unknowns: tuple[Unknown, ...] = ()

    def last_boots(self) -> tuple[BootLog, ...]:
        """The last boot of each service."""
        return tuple({boot.service: boot for boot in self.boots}.values())
