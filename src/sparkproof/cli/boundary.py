"""Where every error of a command becomes one message, one document and one exit code."""

from __future__ import annotations

import difflib
import signal
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType

import click

from sparkproof.cli.after_dashes import SplitCommand
from sparkproof.cli.registry import command_of
from sparkproof.core.errors import ExitCode

_FORMAT_HINT = "it is damaged or another kind of thing: fetch it again, or name the right one"
_RELEASE_OPTION = "--vllm"
_RELEASE_HINT = "`--artifact vllm==VERSION`, or `sparkproof select` with --vllm: it needs none"
_BUG_HINT = "this is a bug in sparkproof; please report it with the text above"


def _usage_hint(error: click.ClickException, context: click.Context) -> str:
    """What to type: something of nearly that name, ``--`` before vLLM's words, or the help."""
    shown = f"`{context.command_path} --help` shows the options"
    if isinstance(error, click.NoSuchOption):
        if error.option_name == _RELEASE_OPTION:
            return _RELEASE_HINT
        if error.possibilities:
            return f"perhaps `{error.possibilities[0]}`; {shown}"
        if _passes_on(context.command):
            return f"what is meant for vLLM goes after `--`; {shown}"
    if isinstance(error, click.exceptions.NoSuchCommand) and isinstance(
        context.command, click.Group
    ):
        names = context.command.list_commands(context)
        for name in difflib.get_close_matches(error.command_name, names, n=1):
            return f"perhaps `{context.command_path} {name}`; {shown}"
    return shown


def _passes_on(command: click.Command) -> bool:
    """Whether it takes vLLM's arguments too."""
    named = any(item.name == "vllm_args" for item in command.params)
    return named or isinstance(command, SplitCommand)


class Boundary:
    """Context of one command line; never lets an exception out.

    The parts that an ordinary run does not need are imported here, on the way out.

    Args:
        owns_process: it ends with this command line. Once it is interrupted, nothing interrupts the
            ending: the interpreter's own would let a second signal choose the exit code.
    """

    def __init__(self, argv: Sequence[str], *, owns_process: bool = False) -> None:
        self._owns_process = owns_process
        ours = argv[: argv.index("--")] if "--" in argv else argv
        self.as_json = "--json" in ours
        self.command = command_of([word for word in ours if not word.startswith("-")])

    def __enter__(self) -> Boundary:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        interrupted = isinstance(error, KeyboardInterrupt | click.Abort) or (
            isinstance(error, SystemExit) and error.code == ExitCode.INTERRUPTED
        )
        if interrupted and self._owns_process:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
        if error is None or isinstance(error, SystemExit):
            return
        sys.exit(self._answer(error))

    def _answer(self, error: BaseException) -> int:
        from sparkproof.core.errors import FormatError, SparkproofError  # noqa: PLC0415

        if isinstance(error, click.exceptions.Exit):
            return error.exit_code
        if isinstance(error, KeyboardInterrupt | click.Abort):
            self._say("interrupted", "interrupted", "")
            return ExitCode.INTERRUPTED
        if isinstance(error, BrokenPipeError):
            from sparkproof.cli.output import drop_stdout  # noqa: PLC0415

            drop_stdout()
            return ExitCode.PASS
        if isinstance(error, click.ClickException):
            return self._answer_click(error)
        if isinstance(error, SparkproofError):
            usual = _FORMAT_HINT if isinstance(error, FormatError) else ""
            self._say(error.code, str(error), error.hint or usual)
            return error.exit_code
        traceback.print_exception(error, file=sys.stderr)
        self._say("bug", f"{type(error).__name__}: {error}", _BUG_HINT)
        return ExitCode.BUG

    def _answer_click(self, error: click.ClickException) -> int:
        context = error.ctx if isinstance(error, click.UsageError) else None
        if context and isinstance(error, click.exceptions.NoArgsIsHelpError):
            from sparkproof.cli.output import write_text  # noqa: PLC0415

            write_text(context.get_help() + "\n", to_stderr=True)
            return ExitCode.USAGE
        named = isinstance(error, click.NoSuchOption | click.exceptions.NoSuchCommand)
        message = error.message if named else error.format_message()
        hint = _usage_hint(error, context) if context else ""
        self._say("usage", message[:1].lower() + message[1:].rstrip("."), hint)
        return ExitCode.USAGE

    def _say(self, code: str, message: str, hint: str) -> None:
        from sparkproof.cli.output import write_error  # noqa: PLC0415

        write_error(self.command, code, message, hint, as_json=self.as_json)
