"""Loads what we know about the wording of vLLM's log lines."""

from __future__ import annotations

from functools import cache

from sparkproof.facts.book import load_folder
from sparkproof.facts.log_schema import LogLine, LogLines


@cache
def log_lines() -> tuple[LogLine, ...]:
    """All wordings, in the order of their files."""
    return tuple(line for file in load_folder("log_lines", LogLines) for line in file.lines)
