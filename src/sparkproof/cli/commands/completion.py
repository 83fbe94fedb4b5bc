"""``sparkproof completion SHELL``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sparkproof.cli.output import write_text


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    Add `eval "$(sparkproof completion bash)"` to ~/.bashrc, or the like.
    """
    from sparkproof.cli.main import cli  # noqa: PLC0415

    completion = get_completion_class(shell)
    assert completion is not None
    write_text(completion(cli, {}, "sparkproof", "_SPARKPROOF_COMPLETE").source())
