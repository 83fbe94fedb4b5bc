"""What can be off in silence: prefix hits, speculation, the KV format, async scheduling, graphs."""

from __future__ import annotations

from sparkproof.core.finding import Finding
from sparkproof.core.observations.server_snapshot import Window
from sparkproof.core.results.smoke import LogSays, SmokeResult
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.gates.pages import make_finding

Judged = tuple[tuple[Criterion, ...], tuple[Finding, ...]]
_One = tuple[Criterion, Finding | None]


def judge_features(result: SmokeResult) -> Judged:
    """One criterion a feature; what nothing shows is skipped, never passed."""
    parts = [_prefix(result), _drafts(result), _kv(result), _async(result), _graphs(result)]
    return (
        tuple(criterion for criterion, _ in parts),
        tuple(finding for _, finding in parts if finding),
    )


def _prefix(result: SmokeResult) -> _One:
    name, window = "smoke/prefix", result.prefix_window
    cache = result.snapshot.counts.cache if result.snapshot.counts else {}
    if cache.get("enable_prefix_caching") == "False":
        if result.expected.prefix_caching:
            finding = make_finding(
                "smoke/prefix-off", where="/metrics", what="enable_prefix_caching False"
            )
            return Criterion(name, Verdict.FAIL, finding.message), finding
        return Criterion(name, Verdict.SKIPPED, "prefix caching is off"), None
    if window is None or window.prefix_hits is None:
        return Criterion(name, Verdict.SKIPPED, "the server does not count prefix hits"), None
    if window.prefix_hits > 0:
        reason = f"{window.prefix_hits:.0f} of {result.prefix_tokens} tokens of a repeated prompt"
        return Criterion(name, Verdict.PASS, reason + " came from the cache"), None
    block = _int(cache.get("block_size", ""))
    effective = max(block, _int(cache.get("effective_attention_block_size", "")))
    if effective and result.prefix_tokens <= effective:
        reason = f"no hit possible: {result.prefix_tokens} tokens, blocks of {effective}"
        return Criterion(name, Verdict.SKIPPED, reason), None
    message = (
        f"no hit in a prompt of {result.prefix_tokens} tokens sent twice, blocks of {effective}"
    )
    finding = make_finding(
        "smoke/prefix-silent", message, where="/metrics", what="prefix_cache_hits 0"
    )
    return Criterion(name, Verdict.PASS, message, warning=True), finding


def _drafts(result: SmokeResult) -> _One:
    name, window = "smoke/speculation", result.window
    promised = result.expected.drafts
    if window is None:
        return Criterion(name, Verdict.SKIPPED, "the server exports no counters"), None
    if not window.drafts:
        if promised or window.drafts is not None:
            finding = make_finding(
                "smoke/not-drafting", where="/metrics", what="no draft was counted"
            )
            return Criterion(name, Verdict.FAIL, finding.message), finding
        return Criterion(name, Verdict.SKIPPED, "no speculation on this server"), None
    reason = acceptance_words(window)
    if not window.accepted:
        finding = make_finding("smoke/none-accepted", where="/metrics", what=reason)
        return Criterion(name, Verdict.PASS, reason, warning=True), finding
    return Criterion(name, Verdict.PASS, reason), None


def acceptance_words(window: Window) -> str:
    """``46 % of drafted tokens accepted (0.55, 0.44, 0.37), 2.36 tokens a step with the bonus``."""
    rate, length = window.acceptance_rate or 0.0, window.acceptance_length or 0.0
    at = ", ".join(f"{share:.2f}" for share in window.acceptance_at)
    return (
        f"{rate:.0%} of drafted tokens accepted ({at}), {length:.2f} tokens a step with the bonus"
    )


def _kv(result: SmokeResult) -> _One:
    name, wanted = "smoke/kv-dtype", result.expected.kv_dtype
    cache = result.snapshot.counts.cache if result.snapshot.counts else {}
    seen = cache.get("cache_dtype", "")
    if not seen:
        return Criterion(name, Verdict.SKIPPED, "the server does not tell its KV format"), None
    if wanted and wanted != "auto" and not seen.startswith(wanted.split("_")[0]):
        message = f"the KV cache is {seen}, {wanted} was asked for"
        finding = make_finding(
            "smoke/kv-dtype", message, where="/metrics", what=f"cache_dtype {seen}"
        )
        return Criterion(name, Verdict.FAIL, message), finding
    return Criterion(name, Verdict.PASS, f"KV cache in {seen}"), None


def _async(result: SmokeResult) -> _One:
    name, log = "smoke/async-scheduling", result.log
    if log is None or log.async_scheduling is None:
        return Criterion(name, Verdict.SKIPPED, _untold(log)), None
    if log.async_scheduling:
        return Criterion(name, Verdict.PASS, "on"), None
    finding = make_finding("smoke/async-off", where="boot log", what=log.async_why or "off")
    return Criterion(name, Verdict.PASS, f"off: {log.async_why}", warning=True), finding


def _graphs(result: SmokeResult) -> _One:
    name, log = "smoke/graphs", result.log
    if log is None or (log.eager is None and not log.largest_graph):
        return Criterion(name, Verdict.SKIPPED, _untold(log)), None
    if log.eager:
        return Criterion(name, Verdict.SKIPPED, "eager mode: no graphs"), None
    needed = log.max_num_seqs * (1 + log.speculative_tokens)
    if needed and log.largest_graph and log.largest_graph < needed:
        message = f"graphs up to {log.largest_graph} tokens, a full decode batch has {needed}"
        finding = make_finding("smoke/graphs", message, where="boot log", what=message)
        return Criterion(name, Verdict.PASS, message, warning=True), finding
    return Criterion(name, Verdict.PASS, f"captured up to {log.largest_graph} tokens"), None


def _untold(log: LogSays | None) -> str:
    return "the boot log does not tell" if log else "only the boot log tells: give it with --log"


def _int(text: str) -> int:
    return int(text) if text.isdecimal() else 0
