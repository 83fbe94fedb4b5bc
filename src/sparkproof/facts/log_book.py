"""Loads what we know about vLLM's log lines and failures."""

from __future__ import annotations

from functools import cache

from sparkproof.facts.book import load_folder
from sparkproof.facts.log_schema import LogLine, LogLines, Signature


@cache
def log_lines() -> tuple[LogLine, ...]:
    """All wordings, in the order of their files."""
    return tuple(line for file in load_folder("log_lines", LogLines) for line in file.lines)


@cache
def signatures() -> dict[str, Signature]:
    """All failure signatures by id."""
    return {item.id: item for item in load_folder("failure_signatures", Signature)}
