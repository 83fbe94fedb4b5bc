"""Sums over the lines that a running server prints for ever."""

from __future__ import annotations

from sparkproof.core.observations.boot_log import Traffic


class TrafficSum:
    """Peaks and last values of the periodic lines; counts of the access log."""

    def __init__(self) -> None:
        self.responses = [0, 0, 0]
        self._intervals = 0
        self._generated_at = 0
        self.answered_at = 0
        self._peaks: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def add(self, groups: dict[str, str], line: int) -> None:
        """One periodic line's values."""
        if "prompt_per_s" in groups:
            self._intervals += 1
        for name, text in groups.items():
            if text is None:
                continue
            try:
                value = float(text.replace(",", ""))
            except ValueError:
                continue
            self._last[name] = value
            self._peaks[name] = max(value, self._peaks.get(name, value))
            if name == "generation_per_s" and value > 0:
                self._generated_at = line

    def total(self) -> Traffic:
        """What it adds up to."""
        peaks, last = self._peaks, self._last
        return Traffic(
            intervals=self._intervals,
            peak_prompt_tokens_per_s=peaks.get("prompt_per_s", 0.0),
            peak_generation_tokens_per_s=peaks.get("generation_per_s", 0.0),
            peak_running=int(peaks.get("running", 0)),
            peak_waiting=int(peaks.get("waiting", 0)),
            peak_kv_usage_pct=peaks.get("kv_usage", -1.0),
            last_prefix_hit_pct=last.get("prefix_hit", -1.0),
            last_acceptance_length=last.get("acceptance_length", -1.0),
            last_draft_acceptance_pct=last.get("draft_acceptance", -1.0),
            responses_ok=self.responses[0],
            responses_refused=self.responses[1],
            responses_failed=self.responses[2],
            last_generation_line=self._generated_at,
            last_answer_line=self.answered_at,
        )
