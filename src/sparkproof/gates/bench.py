"""What a load request looks like, and whether its measurement is worth anything.

The verdict is about the measurement, not about the server: a slow server passes, a client that
could not keep up does not.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from sparkproof.core.finding import Finding
from sparkproof.core.observations.load_run import Cell, CellRun
from sparkproof.core.observations.server_snapshot import Window
from sparkproof.core.results.bench import BenchResult
from sparkproof.core.server_port import Ask
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.pages import make_finding
from sparkproof.load.ask import chat_ask, raw_ask
from sparkproof.load.metrics import summarize_cell
from sparkproof.load.prompts import compose

MIN_REPEATS = 3
_CPU_SHARE = 0.9
_LAG_MS = 5.0
_LAG_SHARE = 0.05
_HIT_SHARE = 0.01
_DEPTH_SHARE = 0.1
_TOKEN_SHARE = 0.005
_JUMP_S = 0.5
_FAR = 3.0  # a stall of the machine hits whoever is in flight, and so more than a few
_FEW_SHARE = 0.25
_MOST_SHARE = 2 / 3


def load_ask(label: str, model: str, cell: Cell, words: int, seed: str) -> Ask:
    """One request of a cell: its own prompt and cache salt, greedy, length forced."""
    text = compose(words, seed, ask=True)
    forced: dict[str, Any] = {"ignore_eos": True, "cache_salt": seed}
    if cell.mode == "raw":
        return raw_ask(label, model, text, cell.output, stream=True, **forced)
    thinking = {"enable_thinking": cell.mode == "thinking"}
    return chat_ask(
        label, model, text, cell.output, stream=True, chat_template_kwargs=thinking, **forced
    )


def derive(result: BenchResult) -> BenchResult:
    """The result with everything that follows from its raw records."""
    cells = tuple(
        summarize_cell(index, cell, [run for run in result.runs if run.cell == index])
        for index, cell in enumerate(result.plan.cells)
    )
    others, tokens, seen = _others(result)
    return msgspec.structs.replace(
        result,
        cells=cells,
        others=others,
        others_tokens=tokens,
        loaded=others >= 1 or seen,
    )


def _others(result: BenchResult) -> tuple[float, float, bool]:
    """Requests and tokens that the server counted beyond ours; more in flight than we sent."""
    requests = tokens = 0.0
    seen = False
    for run in result.runs:
        window = run.window
        if window is None or window.restarted:
            continue
        mine = [r.reading for r in run.requests if r.status == 200]
        if window.finished is not None:
            requests += max(0.0, window.finished - len(mine))
        made = sum(max(0, reading.completion_tokens) for reading in mine)
        whole = all(reading.completion_tokens >= 0 for reading in mine)
        if window.generated_tokens is not None and whole:
            beyond = window.generated_tokens - made
            tokens += beyond if beyond > _TOKEN_SHARE * made + 1 else 0.0
        streams = result.plan.cells[run.cell].concurrency
        in_flight = window.running_seen + window.waiting_seen
        seen = seen or bool(streams and in_flight > streams) or tokens > 0
    return requests, tokens, seen


def judge_bench(result: BenchResult) -> tuple[tuple[Criterion, ...], tuple[Finding, ...]]:
    """Is it a measurement? One criterion a way in which it might not be."""
    parts = [judge(result) for judge in _JUDGES]
    return (
        tuple(criterion for criterion, _ in parts),
        tuple(finding for _, finding in parts if finding),
    )


_One = tuple[Criterion, Finding | None]


def _answered(result: BenchResult) -> _One:
    name = "bench/answered"
    records = [r for run in result.runs for r in run.requests]
    failed = [r for r in records if not r.ok]
    if not records:
        return Criterion(name, Verdict.INCONCLUSIVE, "nothing was measured"), None
    if not failed:
        return Criterion(name, Verdict.PASS, f"all {len(records)} requests came back whole"), None
    first = failed[0]
    why = first.detail or first.reading.error or f"status {first.status}"
    message = f"{len(failed)} of {len(records)} requests failed: {why}"
    return _doubt(name, "bench/failed-requests", message)


def _counted(result: BenchResult) -> _One:
    name = "bench/tokens"
    good = [(run, r) for run in result.runs for r in run.requests if r.ok]
    uncounted = [r for _, r in good if r.reading.completion_tokens < 0]
    if uncounted:
        message = f"no token count with {len(uncounted)} of {len(good)} answers"
        return _doubt(name, "bench/no-count", message)
    wrong = [
        r for run, r in good if r.reading.completion_tokens != result.plan.cells[run.cell].output
    ]
    if wrong:
        asked = {cell.output for cell in result.plan.cells}
        got = statistics.median(r.reading.completion_tokens for r in wrong)
        message = (
            f"{len(wrong)} of {len(good)} answers have {got:g} tokens in place of {asked.pop()}"
        )
        return _doubt(name, "bench/length", message)
    return Criterion(name, Verdict.PASS, "the server's counts; every length as forced"), None


def _client(result: BenchResult) -> _One:
    name = "bench/client"
    worst = 0.0
    for run in result.runs:
        health = run.health
        worst = max(worst, health.lag_p95_ms)
        if health.cpu_share > _CPU_SHARE:
            message = f"our own processor was {health.cpu_share:.0%} busy"
            return _doubt(name, "bench/client-saturated", message)
        if health.lag_p95_ms > (allowed := allowed_lag_ms(run)):
            message = (
                f"our event loop was late by {health.lag_p95_ms:.1f} ms, {allowed:.1f} would do"
            )
            return _doubt(name, "bench/client-saturated", message)
    return Criterion(name, Verdict.PASS, f"the client was late by {worst:.1f} ms at most"), None


def allowed_lag_ms(run: CellRun) -> float:
    """How late the client may be: a twentieth of the time to the first token, 5 ms at least."""
    marks = [r.reading.first_token_us / 1000 for r in run.requests if r.reading.first_token_us > 0]
    return max(_LAG_MS, _LAG_SHARE * statistics.median(marks)) if marks else _LAG_MS


def _windows(result: BenchResult) -> Iterator[tuple[CellRun, Window]]:
    for run in result.runs:
        if run.window is not None:
            yield run, run.window


def _steady(result: BenchResult) -> _One:
    name = "bench/engine"
    windows = [window for _, window in _windows(result)]
    if not windows:
        return Criterion(name, Verdict.SKIPPED, "the server tells nothing of itself"), None
    if any(window.restarted for window in windows):
        return _doubt(name, "bench/restarted", "")
    if thrown := sum(window.preemptions or 0 for window in windows):
        return _doubt(name, "bench/preempted", f"{thrown:.0f} preemptions")
    if any(window.preemptions is None for window in windows):
        return Criterion(name, Verdict.SKIPPED, "the server does not count preemptions"), None
    return Criterion(name, Verdict.PASS, "one engine throughout, no preemption"), None


def _fresh(result: BenchResult) -> _One:
    name = "bench/prefix"
    hits = sum(window.prefix_hits or 0 for _, window in _windows(result))
    asked = sum(window.prefix_queries or 0 for _, window in _windows(result))
    if not asked:
        return Criterion(name, Verdict.SKIPPED, "the server does not count prefix hits"), None
    if hits > _HIT_SHARE * asked:
        message = f"{hits / asked:.0%} of the prompts' tokens came from the prefix cache"
        return _doubt(name, "bench/prefix-hits", message)
    return Criterion(name, Verdict.PASS, "prompts were computed, not remembered"), None


def _alone(result: BenchResult) -> _One:
    name = "bench/alone"
    told = sum(_counts_work(window) for _, window in _windows(result))
    if not result.loaded and told < max(1, len(result.runs)):
        return Criterion(name, Verdict.SKIPPED, "other traffic can't be seen from here"), None
    if not result.loaded:
        return Criterion(name, Verdict.PASS, "no other traffic was counted"), None
    message = (
        f"loaded: {result.others:.0f} other requests, {result.others_tokens:.0f} tokens beside ours"
    )
    return Criterion(name, Verdict.PASS, message, warning=True), make_finding(
        "bench/loaded", message
    )


def _counts_work(window: Window) -> bool:
    return window.finished is not None or window.generated_tokens is not None


def _repeated(result: BenchResult) -> _One:
    name = "bench/repeats"
    least = min((cell.repeats for cell in result.cells), default=0)
    if least >= MIN_REPEATS:
        return Criterion(name, Verdict.PASS, f"{least} repeats, in turns"), None
    return _doubt(name, "bench/few-repeats", f"{least} whole repeats")


def _deep(result: BenchResult) -> _One:
    name = "bench/depth"
    for summary, cell in zip(result.cells, result.plan.cells, strict=False):
        off = abs((summary.depth or cell.depth) - cell.depth)
        if off > max(16, _DEPTH_SHARE * cell.depth):
            message = f"prompts of {summary.depth:.0f} tokens where {cell.depth} were meant"
            return Criterion(name, Verdict.PASS, message, warning=True), make_finding(
                "bench/depth", message
            )
    return Criterion(name, Verdict.PASS, "prompts are as deep as asked"), None


def _even(result: BenchResult) -> _One:
    name = "bench/even"
    for index in range(len(result.plan.cells)):
        waits = [_waits(run) for run in result.runs if run.cell == index]
        slow = [one for times in waits for one in times if one > _FAR]
        told = sum(any(one > _FAR for one in times) for times in waits)
        few = len(slow) <= _FEW_SHARE * sum(map(len, waits))
        if slow and few and len(waits) >= MIN_REPEATS and told >= _MOST_SHARE * len(waits):
            message = (
                f"{len(slow)} of {sum(map(len, waits))} answers took up to {max(slow):.1f} times "
                "as long as the median of their repeat"
            )
            finding = make_finding("bench/uneven-streams", message)
            return Criterion(name, Verdict.PASS, message, warning=True), finding
    return Criterion(name, Verdict.PASS, "no few answers far behind the others"), None


def _waits(run: CellRun) -> list[float]:
    """How long each answer took, by the median of the repeat."""
    times = [r.reading.ended_us for r in run.requests if r.ok and r.reading.ended_us > 0]
    middle = statistics.median(times) if times else 1
    return [time / middle for time in times]


def _clock(result: BenchResult) -> _One:
    name = "bench/clock"
    jump = max((abs(run.health.clock_jump_s) for run in result.runs), default=0.0)
    if jump <= _JUMP_S:
        return Criterion(name, Verdict.PASS, "wall and monotonic clock agree"), None
    message = f"the wall clock jumped by {jump:.1f} s"
    return Criterion(name, Verdict.PASS, message, warning=True), make_finding(
        "bench/clock-jumped", message
    )


def _doubt(name: str, rule: str, message: str) -> _One:
    finding = make_finding(rule, message)
    return Criterion(name, Verdict.INCONCLUSIVE, finding.message), finding


_JUDGES: tuple[Callable[[BenchResult], _One], ...] = (
    _answered,
    _counted,
    _client,
    _steady,
    _fresh,
    _alone,
    _repeated,
    _deep,
    _even,
    _clock,
)
