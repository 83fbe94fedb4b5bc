"""Entry point: the group, and the boundary where errors become exit codes."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from sparkproof import __version__
from sparkproof.cli.boundary import Boundary
from sparkproof.cli.registry import COMMANDS, SECTIONS

_COMPLETE = "_SPARKPROOF_COMPLETE"


class LazyGroup(click.Group):
    """Knows its commands by name and imports a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of the help."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        for entry in COMMANDS:
            if entry.name == cmd_name:
                command: click.Command = importlib.import_module(entry.module).command
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands by group, without importing any."""
        for section in SECTIONS:
            rows = [(e.name, e.summary) for e in COMMANDS if e.section == section]
            if rows:
                with formatter.section(section.capitalize()):
                    formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sparkproof", message="%(prog)s %(version)s")
def cli() -> None:
    """Prove, before you deploy, what vLLM will do on a DGX Spark.

    Exit codes: 0 passes, 1 fails, 2 wrong usage, 3 inconclusive, 4 could not look, 70 our bug,
    130 interrupted.
    """


def _end_in_order() -> None:
    """Have SIGTERM and SIGHUP end a run as Ctrl-C does: what was found is told, and what was
    started (a server, a scorer) is ended too."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # `nohup` has it ignored
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from sparkproof.cli.output import open_streams  # noqa: PLC0415

        open_streams()
    if arguments is None:
        _end_in_order()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    with Boundary(argv, owns_process=arguments is None):
        instruction = os.environ.get(_COMPLETE)
        if instruction:
            from click.shell_completion import shell_complete  # noqa: PLC0415

            sys.exit(shell_complete(cli, {}, "sparkproof", _COMPLETE, instruction))
        # Not `cli.main`: it would answer a broken pipe with 1, which here says "fails".
        with cli.make_context("sparkproof", argv) as context:
            cli.invoke(context)
        sys.exit(0)


if __name__ == "__main__":
    main()
