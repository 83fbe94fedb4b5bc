"""``sparkproof smoke URL``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from sparkproof.cli.options import (
    EXISTING_FILE,
    Seconds,
    model_option,
    output_options,
    receipt_options,
    receipts_of,
    say,
)


@click.command("smoke")
@click.argument("server", metavar="URL")
@click.option("--deployment", type=EXISTING_FILE, help="Deployment TOML: what it should be.")
@click.option("--expect", default="", metavar="VERSION", help="The vLLM version it should be.")
@model_option
@click.option("--name", "names", multiple=True, help="A name that has to be served (repeatable).")
@click.option("--gateway", default="", metavar="URL", help="Reach every name through this as well.")
@click.option("--log", default="", metavar="SOURCE", help="Boot log: adds what only it tells.")
@click.option("--trusted", default="", metavar="RECEIPT", help="Earlier smoke of this checkpoint.")
@click.option("--warm-only", is_flag=True, help="Only warm up: for a boot hook or a probe.")
@click.option(
    "--wait", type=Seconds(), default=0.0, metavar="SECONDS", help="Wait so long for the server."
)
@receipt_options
@output_options
def command(
    *,
    server: str,
    deployment: Path | None,
    expect: str,
    model: str,
    names: tuple[str, ...],
    gateway: str,
    log: str,
    trusted: str,
    warm_only: bool,
    wait: float,
    receipt: bool,
    store: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Ask a live server first things first, and warm it up.

    Version, names, raw coherence, chat template, tools, structured output, and what can be off
    in silence. URL is the server's address; its key comes from SPARKPROOF_API_KEY.

    \b
    sparkproof smoke http://127.0.0.1:8000 --deployment deployment.toml
    sparkproof smoke http://127.0.0.1:8000 --warm-only --wait 600
    """
    from sparkproof.cli.output import emit_or_interrupt  # noqa: PLC0415
    from sparkproof.render.smoke_text import render_smoke  # noqa: PLC0415
    from sparkproof.usecases.fit.inputs import read_deployment  # noqa: PLC0415
    from sparkproof.usecases.smoke import smoke  # noqa: PLC0415

    receipts = receipts_of(store)
    report = smoke(
        server,
        deployment=read_deployment(deployment) if deployment else None,
        expect=expect,
        model=model,
        names=names,
        gateway=gateway,
        log=log,
        trusted=trusted,
        warm_only=warm_only,
        wait_s=wait,
        store=receipts if receipt else None,
        trust_store=receipts,
        say=say,
    )
    body = partial(render_smoke, criteria=report.criteria)
    raise SystemExit(emit_or_interrupt(report, body, as_json=as_json, verbose=verbose))
