"""``sparkproof receipt list|show|export|judge|verify``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from sparkproof.cli.options import complete_receipt, output_options

_OUT = click.Path(dir_okay=False, path_type=Path)
store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of receipts; default: the user's data folder.",
)


@click.group("receipt")
def command() -> None:
    """List, show, judge and verify receipts.

    A receipt is the dated, hashed record of a report. RECEIPT is a file, the beginning of a
    hash, a number, or `latest`.
    """


@command.command("list")
@click.option("--command", "of", default="", metavar="NAME", help="Only those of this command.")
@store_option
@output_options
def list_command(of: str, store: Path | None, as_json: bool, verbose: bool) -> None:
    """List the receipts, oldest first."""
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.receipts_text import render_list  # noqa: PLC0415
    from sparkproof.usecases.receipts import list_receipts  # noqa: PLC0415

    report = list_receipts(ReceiptStore(store or default_folder()), of)
    raise SystemExit(emit(report, render_list, as_json=as_json, verbose=verbose, judges=False))


@command.command("show")
@click.argument("receipt", default="latest", shell_complete=complete_receipt)
@store_option
@output_options
def show_command(receipt: str, store: Path | None, as_json: bool, verbose: bool) -> None:
    """Show one receipt and the report in it."""
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.receipts_text import render_view  # noqa: PLC0415
    from sparkproof.usecases.receipts import show_receipt  # noqa: PLC0415

    report = show_receipt(ReceiptStore(store or default_folder()), receipt)
    raise SystemExit(emit(report, render_view, as_json=as_json, verbose=verbose, judges=False))


@command.command("export")
@click.argument("receipt", default="latest", shell_complete=complete_receipt)
@click.option("--html", type=_OUT, help="Write a page, with plots where there are figures.")
@click.option("--csv", type=_OUT, help="Write a benchmark's requests, one a row.")
@store_option
@output_options
def export_command(
    receipt: str,
    html: Path | None,
    csv: Path | None,
    store: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Write a receipt as a page, or a benchmark's requests as a table."""
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.export import render_export  # noqa: PLC0415
    from sparkproof.usecases.receipt_export import read_report, write_export  # noqa: PLC0415

    out = html or csv
    if out is None or (html and csv):
        raise click.UsageError("give either --html FILE or --csv FILE")
    kind = "html" if html else "csv"
    name, kept = read_report(ReceiptStore(store or default_folder()), receipt, rows=kind == "csv")
    report = write_export(name, kept.receipt, out, kind, render_export(kept, kind))
    raise SystemExit(emit(report, lambda _: (), as_json=as_json, verbose=verbose, judges=False))


@command.command("judge")
@click.argument("receipt", default="latest", shell_complete=complete_receipt)
@store_option
@output_options
def judge_command(receipt: str, store: Path | None, as_json: bool, verbose: bool) -> None:
    """Judge a receipt of smoke, soak, ab or bench again, by the rules of today.

    What the server answered is in the receipt: nothing is asked. Says what it was sealed as and
    what comes out otherwise; ends with the new verdict's exit code.
    """
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.export import render_judgement  # noqa: PLC0415
    from sparkproof.usecases.receipt_judge import judge_receipt  # noqa: PLC0415

    report, judged = judge_receipt(ReceiptStore(store or default_folder()), receipt)
    body = partial(render_judgement, judged=judged)
    raise SystemExit(emit(report, body, as_json=as_json, verbose=verbose))


@command.command("verify")
@click.argument("receipt", default="", shell_complete=complete_receipt)
@click.option("--head", default="", metavar="DIGEST", help="A head noted earlier, elsewhere.")
@store_option
@output_options
def verify_command(
    receipt: str, head: str, store: Path | None, as_json: bool, verbose: bool
) -> None:
    """Check that receipts are what was sealed: one, or the whole chain.

    Finds edits, removed and replaced receipts. It claims no authenticity: there is no signature.
    """
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.receipts_text import render_verification  # noqa: PLC0415
    from sparkproof.usecases.receipts import verify_receipts  # noqa: PLC0415

    report = verify_receipts(
        ReceiptStore(store or default_folder()), reference=receipt, noted_head=head
    )
    raise SystemExit(emit(report, render_verification, as_json=as_json, verbose=verbose))
