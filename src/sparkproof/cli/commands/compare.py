"""``sparkproof compare A B``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkproof.cli.options import output_options


@click.command("compare")
@click.argument("receipts", nargs=-1, required=True, metavar="A B [C ...]")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of receipts; default: the user's data folder.",
)
@output_options
def command(receipts: tuple[str, ...], store: Path | None, as_json: bool, verbose: bool) -> None:
    """Compare benchmarks, and say what the difference may be put down to.

    One chosen identity differs and the figures lie apart beyond their spread: because of it.
    Several differ: cannot be attributed, with the experiment that would. Within the spread: no
    difference. Another load, tool or state of the server: not comparable.

    \b
    sparkproof compare 12 15
    """
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.compare_text import render_compare  # noqa: PLC0415
    from sparkproof.usecases.compare import compare_receipts  # noqa: PLC0415

    report = compare_receipts(ReceiptStore(store or default_folder()), receipts)
    raise SystemExit(emit(report, render_compare, as_json=as_json, verbose=verbose))
