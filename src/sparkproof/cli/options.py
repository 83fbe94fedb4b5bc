"""Options that several commands share, and the context they set up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from sparkproof.core.units import MAX_GIB

if TYPE_CHECKING:
    from sparkproof.adapters.store import ReceiptStore

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


def complete_device(
    _ctx: click.Context, _param: click.Parameter, partial: str
) -> list[CompletionItem]:
    """Known devices that begin so."""
    from sparkproof.facts.book import hardware  # noqa: PLC0415

    known = sorted(hardware().values(), key=lambda device: device.id)
    return [
        CompletionItem(device.id, help=device.title)
        for device in known
        if device.id.startswith(partial.lower())
    ]


def complete_receipt(
    ctx: click.Context, _param: click.Parameter, partial: str
) -> list[CompletionItem]:
    """Numbers of the store's receipts, newest first, each with what it is of."""
    from sparkproof.adapters.receipt_index import ReceiptIndex  # noqa: PLC0415
    from sparkproof.core.errors import SparkproofError  # noqa: PLC0415

    try:
        with ReceiptIndex(receipts_of(ctx.params.get("store"))) as index:
            rows, _ = index.rows()
    except SparkproofError:
        return []
    told = [CompletionItem("latest")] + [
        CompletionItem(
            row.file.partition("-")[0].lstrip("0"),
            help=f"{row.command} {row.verdict} {row.subject}".rstrip(),
        )
        for row in reversed(rows)
    ]
    return [item for item in told if item.value.startswith(partial)]


json_option = click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Show all of the detail.")
offline_option = click.option(
    "--offline", is_flag=True, help="Use nothing but local files and the cache."
)
own_device_option = click.option(
    "--device",
    default="",
    metavar="DEVICE",
    shell_complete=complete_device,
    help="Default: the deployment's, or gb10.",
)
device_option = click.option(
    "--device",
    default="gb10",
    show_default=True,
    metavar="DEVICE",
    shell_complete=complete_device,
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


package_option = click.option(
    "--package", "packages", multiple=True, metavar="NAME=VERSION", help="Installed beside vLLM."
)
model_option = click.option(
    "--model", default="", help="Served name to use; default: the first listed."
)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""Type of options that name a file which is there."""


def timeout_option(default_s: float) -> Callable[[F], F]:
    """``--timeout`` of one request."""
    return click.option(
        "--timeout",
        type=Seconds(),
        default=default_s,
        show_default=True,
        help="Seconds for one request.",
    )


def page_option(help_: str = "Write a page.") -> Callable[[F], F]:
    """``--html``; that the file can be written is made sure of before a long run."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("--html", type=kind, callback=page_path, help=help_)


def records_options(function: F) -> F:
    """``--resume`` and ``--records``."""
    resume = click.option(
        "--resume", default="", metavar="RECORDS", help="Go on: records, receipt, or latest."
    )
    folder = click.option(
        "--records", type=click.Path(file_okay=False, path_type=Path), help="Folder of records."
    )
    return resume(folder(function))


def receipts_of(store: Path | None) -> ReceiptStore:
    """The folder that ``--store`` names, or the user's."""
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415

    return ReceiptStore(store or default_folder())


def say(text: str) -> None:
    """Tell on stderr how far a long run is."""
    from sparkproof.cli.output import write_lines  # noqa: PLC0415
    from sparkproof.render.lines import line  # noqa: PLC0415

    write_lines([line(text)], to_stderr=True)
