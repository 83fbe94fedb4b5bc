"""An argument list as a release takes it."""

from __future__ import annotations

import json

from sparkproof.core.serve_line import ServeLine
from sparkproof.render.lines import Line, Span, Style, heading, table


def render_serve_line(result: ServeLine) -> list[Line]:
    """One row per option, with the value that counts."""
    lines = [heading("arguments", f"as vllm {result.version} takes them")]
    rows = [
        (item.flag, json.dumps(item.value), Span(_spelled(item.flag, item.spelling), Style.DIM))
        for item in result.given
    ]
    return [*lines, *table(rows)]


def _spelled(flag: str, spelling: str) -> str:
    name = spelling.split("=", maxsplit=1)[0]
    return "" if name == flag else f"given as {name}"
