"""Sums over the lines that a running server prints for ever."""

from __future__ import annotations

from sparkproof.core.observations.boot_log import Traffic


class _Run:
    """Lines of one kind in a row."""

    def __init__(self) -> None:
        self._count = 0
        self._first = 0

    def one_more(self, line: int) -> None:
        self._first = self._first or line
        self._count += 1

    def count_after(self, line: int) -> int:
        """How many, unless something stood at that line that ends the row."""
        return self._count if self._first > line else 0


class TrafficSum:
    """Peaks and last values of the periodic lines; counts of the access log."""

    def __init__(self) -> None:
        self.responses = [0, 0, 0]
        self._intervals = 0
        self._generated_at = 0
        self._answered_at = 0
        self._failed_run = 0
        self._stalled = _Run()
        self._silent = _Run()
        self._peaks: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def answered(self, line: int) -> None:
        """A request for tokens was answered well."""
        self._answered_at = line
        self._failed_run = 0

    def failed(self) -> None:
        """A request for tokens ended in an error of the server's."""
        self._failed_run += 1

    def silent(self, line: int) -> None:
        """A worker has not answered the engine for a while."""
        self._silent.one_more(line)

    def begin(self) -> None:
        """The server is up: what was slow before was the start."""
        self._silent = _Run()

    def add(self, groups: dict[str, str], line: int) -> None:
        """One periodic line's values."""
        values = self._values(groups)
        if "prompt_per_s" not in values:
            return
        self._intervals += 1
        if values.get("generation_per_s", 0.0) > 0:
            self._generated_at = line
            self._silent = _Run()
        tokens = values["prompt_per_s"] + values.get("generation_per_s", 0.0)
        if tokens > 0 or not values.get("running"):
            self._stalled = _Run()
        else:
            self._stalled.one_more(line)

    def _values(self, groups: dict[str, str]) -> dict[str, float]:
        values = {}
        for name, text in groups.items():
            if text is None:
                continue
            try:
                value = float(text.replace(",", ""))
            except ValueError:
                continue
            values[name] = self._last[name] = value
            self._peaks[name] = max(value, self._peaks.get(name, value))
        return values

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
            last_answer_line=self._answered_at,
            last_running=int(last.get("running", 0)),
            last_waiting=int(last.get("waiting", 0)),
            failed_in_a_row=self._failed_run,
            stalled_intervals=self._stalled.count_after(self._answered_at),
            silent_waits=self._silent.count_after(self._answered_at),
        )
