"""``sparkproof why URL``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkproof.cli.options import Seconds, output_options, receipt_options

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("why")
@click.argument("server", metavar="URL")
@click.option("--replay", type=_FILE, help="The agent's request: its JSON body, or a recording.")
@click.option(
    "--gateway", default="", metavar="URL", help="The address that the agent really uses."
)
@click.option("--model", default="", help="Served name to use in place of the request's.")
@click.option(
    "--waited", type=Seconds(), default=0.0, metavar="SECONDS", help="How long the agent waited."
)
@click.option(
    "--patience",
    type=Seconds(),
    default=120.0,
    show_default=True,
    help="Seconds to wait for an answer.",
)
@receipt_options
@output_options
def command(
    *,
    server: str,
    replay: Path | None,
    gateway: str,
    model: str,
    waited: float,
    patience: float,
    receipt: bool,
    store: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Find out why an agent stalls, or why a reply is empty or odd.

    Puts the very request again: in one piece and as a stream, straight and through the gateway,
    with a larger budget, without thinking, past the parsers. One cause, or what can't be told.

    \b
    sparkproof why http://127.0.0.1:8000 --replay request.json
    sparkproof why http://127.0.0.1:8000 --gateway http://gateway:4000 --replay request.json
    """
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import emit_or_interrupt  # noqa: PLC0415
    from sparkproof.render.why_text import render_why  # noqa: PLC0415
    from sparkproof.usecases.why import why  # noqa: PLC0415

    report = why(
        server,
        replay=replay,
        gateway=gateway,
        model=model,
        waited_s=waited,
        patience_s=patience,
        store=ReceiptStore(store or default_folder()) if receipt else None,
    )
    raise SystemExit(emit_or_interrupt(report, render_why, as_json=as_json, verbose=verbose))
