"""The one place that writes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
import msgspec

from sparkproof import __version__
from sparkproof.adapters.clock import SystemClock, timestamp
from sparkproof.core.errors import ExitCode
from sparkproof.core.redaction import redact_text
from sparkproof.core.report import ErrorInfo, Report, schema_name
from sparkproof.core.text import encodable, map_text, shorten, visible
from sparkproof.core.verdict import Verdict, exit_code
from sparkproof.render.lines import Line, Style, folded, plain_line
from sparkproof.render.page import PAGE_COLUMNS, page_of
from sparkproof.render.report_text import render_error, render_frame

T = TypeVar("T")
_MAX_MESSAGE = 800
"""Characters of a message: what it quotes may be of any length."""

_LOOK: dict[Style, dict[str, object]] = {
    Style.PLAIN: {},
    Style.STRONG: {"bold": True},
    Style.DIM: {"dim": True},
    Style.GOOD: {"fg": "green", "bold": True},
    Style.WARN: {"fg": "yellow", "bold": True},
    Style.BAD: {"fg": "red", "bold": True},
}


def emit(
    report: Report[T],
    body: Callable[[T], Iterable[Line]],
    *,
    as_json: bool,
    verbose: bool = False,
    judges: bool = True,
) -> int:
    """Write a report and give the exit code its verdict stands for.

    A reader that went away (``| head``) changes nothing about the verdict.
    """
    try:
        if as_json:
            write_json(report)
        else:
            with page_of(page_columns()):
                detail = body(report.result) if report.result is not None else ()
                write_lines(render_frame(report, detail, verbose=verbose, judges=judges))
    except BrokenPipeError:
        drop_stdout()
    return exit_code(report.verdict)


def page_columns() -> int:
    """Columns of the terminal, or what ``COLUMNS`` says; 100 where neither does."""
    return shutil.get_terminal_size((PAGE_COLUMNS, 24)).columns


def emit_or_interrupt(
    report: Report[Any], body: Callable[[Any], Iterable[Line]], *, as_json: bool, verbose: bool
) -> int:
    """As `emit`; a run that somebody stopped shows what it has and ends as interrupted."""
    code = emit(report, body, as_json=as_json, verbose=verbose)
    return ExitCode.INTERRUPTED if getattr(report.result, "interrupted", False) else code


def drop_stdout() -> None:
    """Send what is left in stdout's buffer nowhere, so that the interpreter's exit stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_json(value: object) -> None:
    """One JSON document on stdout: UTF-8, whatever the locale says."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(map_text(msgspec.to_builtins(value), encodable))
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(data) + b"\n")
    sys.stdout.flush()


def write_lines(lines: Iterable[Line], *, to_stderr: bool = False) -> None:
    """Text, coloured on a terminal only, and never under ``NO_COLOR``."""
    stream = sys.stderr if to_stderr else sys.stdout
    colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for item in folded(lines):
        if colour:
            text = "".join(click.style(visible(s.text), **_LOOK[s.style]) for s in item)  # type: ignore[arg-type]
        else:
            text = plain_line(item)
        stream.write(text.rstrip() + "\n")
    stream.flush()


def write_text(text: str, *, to_stderr: bool = False) -> None:
    """A raw answer on stdout, or help on stderr."""
    stream = sys.stderr if to_stderr else sys.stdout
    stream.write(text)
    stream.flush()


def write_error(command: str, code: str, message: str, hint: str, *, as_json: bool) -> None:
    """The failure as text on stderr, and under ``--json`` as a document on stdout too.

    Args:
        command: as in the registry; "" where the command line names none.
        code: of the error.
        message: one line.
        hint: the way out.
        as_json: write the document.
    """
    told = shorten(redact_text(message), _MAX_MESSAGE)
    report: Report[None] = Report(
        schema=schema_name(command or "error"),
        command=command,
        tool_version=__version__,
        generated_at=timestamp(SystemClock().now()),
        verdict=Verdict.ERROR,
        summary=told,
        error=ErrorInfo(code, told, shorten(redact_text(hint), _MAX_MESSAGE)),
    )
    if as_json:
        write_json(report)
    write_lines(render_error(report), to_stderr=True)
