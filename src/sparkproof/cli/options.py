"""Options that several commands share, and the context they set up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sparkproof.core.units import MAX_GIB

F = TypeVar("F", bound=Callable[..., Any])
_MAX_SECONDS = 1e7


class Gib(click.types.FloatParamType):
    """An amount of memory in GiB: not negative, no infinity, no more than a box may have."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if not 0 <= number <= MAX_GIB:
            self.fail(f"`{str(value)[:40]}` is no amount of memory in GiB", param, ctx)
        return number


class Seconds(click.types.FloatParamType):
    """A time: not negative, no infinity, at most some months."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if not 0 <= number <= _MAX_SECONDS:
            self.fail(f"`{str(value)[:40]}` is no time in seconds", param, ctx)
        return number


def page_path(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Callback of options whose file is written after a long run: that it can be is made sure of
    before it begins.

    Raises:
        UnreachableError: it can't be written.
    """
    if path is not None:
        from sparkproof.adapters.files import refuse_unwritable  # noqa: PLC0415

        refuse_unwritable(path)
    return path


json_option = click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Show all of the detail.")
offline_option = click.option(
    "--offline", is_flag=True, help="Use nothing but local files and the cache."
)
device_option = click.option(
    "--device",
    default="gb10",
    show_default=True,
    metavar="DEVICE",
    help="A known device or a compute capability such as 12.1.",
)


def output_options(function: F) -> F:
    """``--json`` and ``-v``."""
    return json_option(verbose_option(function))


def receipt_options(function: F) -> F:
    """``--receipt/--no-receipt`` and ``--store``."""
    written = click.option(
        "--receipt/--no-receipt", default=True, help="Write a receipt (default)."
    )
    folder = click.option(
        "--store", type=click.Path(path_type=Path, file_okay=False), help="Receipts folder."
    )
    return written(folder(function))
