"""Commands that take several things of their own before ``--`` and vLLM's arguments after it."""

from __future__ import annotations

import click

_KEY = "sparkproof.after_dashes"


class SplitCommand(click.Command):
    """Keeps what follows the first ``--`` apart; `after_dashes` gives it back."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, for what stands before ``--``."""
        own, after = list(args), []
        if "--" in own:
            at = own.index("--")
            own, after = own[:at], own[at + 1 :]
        ctx.meta[_KEY] = tuple(after)
        return super().parse_args(ctx, own)


def after_dashes() -> tuple[str, ...]:
    """What followed ``--`` on this command line."""
    found: tuple[str, ...] = click.get_current_context().meta.get(_KEY, ())
    return found
