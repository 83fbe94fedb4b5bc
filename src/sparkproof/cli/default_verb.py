"""Groups of verbs whose first word may be left out."""

from __future__ import annotations

import click


class ShowByDefault(click.Group):
    """A first word that is no verb is what `show` takes."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with `show` before anything else."""
        if args and args[0] not in self.commands:
            args = ["show", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, with `show` before an option of its."""
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h"):
            args = ["show", *args]
        return super().parse_args(ctx, args)
