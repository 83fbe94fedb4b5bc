"""The one place that writes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
import msgspec

from sparkproof import __version__
from sparkproof.adapters.clock import SystemClock, timestamp
from sparkproof.core.errors import ExitCode, UnreachableError, UsageError
from sparkproof.core.redaction import redact_text
from sparkproof.core.report import ErrorInfo, Report, schema_name
from sparkproof.core.text import encodable, map_text, shorten, visible
from sparkproof.core.verdict import Verdict, exit_code
from sparkproof.render.lines import Line, Style, folded, line, plain_line
from sparkproof.render.page import PAGE_COLUMNS, page_of
from sparkproof.render.report_text import render_error, render_frame

T = TypeVar("T")
_FULL_HINT = "free some space; where receipts are kept, `sparkproof receipt list` has the answer"
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


def open_streams() -> None:
    """Put the null device where a standard stream was closed.

    The next file that is opened would take its number, and what is said on the stream would end
    up in it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - until the end


def drop_stdout() -> None:
    """Send what is left in stdout's buffer nowhere, so that the interpreter's exit stays quiet."""
    _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_json(value: object) -> None:
    """One JSON document on stdout: UTF-8, whatever the locale says.

    Raises:
        UnreachableError: stdout takes no more.
    """
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(map_text(msgspec.to_builtins(value), encodable))
    with _told_of_full_disks():
        sys.stdout.flush()
        sys.stdout.buffer.write(msgspec.json.format(data) + b"\n")
        sys.stdout.flush()


def write_lines(lines: Iterable[Line], *, to_stderr: bool = False) -> None:
    """Text, coloured on a terminal only, and never under ``NO_COLOR``.

    What is told on stderr decides nothing: where nobody takes it any more, the work goes on.

    Raises:
        UnreachableError: stdout takes no more.
    """
    if not to_stderr:
        with _told_of_full_disks():
            _write(sys.stdout, lines)
        return
    try:
        _write(sys.stderr, lines)
    except OSError:
        _drop(sys.stderr)


@contextlib.contextmanager
def _told_of_full_disks() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()  # what is left in the buffer can't be written at the end either
        raise UnreachableError(
            f"can't write the answer to stdout: {error.strerror or error}", hint=_FULL_HINT
        ) from error


def _write(stream: TextIO, lines: Iterable[Line]) -> None:
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


def write_page(path: Path, page: str) -> None:
    """Write a page, and say where on stderr.

    Raises:
        UnreachableError: it can't be written.
    """
    from sparkproof.adapters.files import write_file  # noqa: PLC0415

    write_file(path, page)
    write_lines([line(f"page written to {path}")], to_stderr=True)


def refuse_target(path: Path | None, *, force: bool) -> None:
    """Before a long run: make sure that a file of the user's can be written, and is not there yet.

    Args:
        path: None for no file.

    Raises:
        UsageError: it is there, and nobody said that it may go.
        UnreachableError: it can't be written.
    """
    from sparkproof.adapters.files import is_there, refuse_unwritable  # noqa: PLC0415

    if path is None:
        return
    if is_there(path) and not force:
        raise UsageError(f"{path} is there already", hint="--force overwrites it")
    refuse_unwritable(path)


def write_text_file(path: Path | None, text: str) -> None:
    """Write a file that was asked for, and say where on stderr.

    Args:
        path: None for no file.

    Raises:
        UnreachableError: it can't be written.
    """
    from sparkproof.adapters.files import write_file  # noqa: PLC0415

    if path is None or not text:
        return
    write_file(path, text)
    write_lines([line(f"saved as {path}")], to_stderr=True)


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
        with contextlib.suppress(BrokenPipeError, UnreachableError):  # it is told below
            write_json(report)
    write_lines(render_error(report), to_stderr=True)
