"""``sparkproof log SOURCE``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkproof.cli.options import output_options

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("log")
@click.argument("source", default="", metavar="[FILE|-|container:NAME|unit:NAME]")
@click.option("--follow", is_flag=True, help="Read on until the server is ready or has failed.")
@click.option("--response", type=_FILE, help="An answer of the server, or a list of them.")
@click.option("--postmortem", is_flag=True, help="Put the pieces below on one timeline.")
@click.option("--inspect", type=_FILE, help="Saved `docker inspect` JSON: image, exit state.")
@click.option("--kernel", type=_FILE, help="Saved `journalctl -k` or `dmesg` output.")
@click.option("--metrics", type=_FILE, help="The last /metrics that was saved.")
@click.option("--pressure", type=_FILE, help="Saved /proc/pressure/memory.")
@click.option("--redact", is_flag=True, help="Mask secrets, home folders and addresses.")
@output_options
def command(
    *,
    source: str,
    follow: bool,
    response: Path | None,
    postmortem: bool,
    inspect: Path | None,
    kernel: Path | None,
    metrics: Path | None,
    pressure: Path | None,
    redact: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Read a vLLM log: its facts, and the cause where it failed.

    SOURCE is a file, - for standard input, container:NAME or unit:NAME.
    """
    from sparkproof.cli.output import emit, write_lines  # noqa: PLC0415
    from sparkproof.render.lines import line  # noqa: PLC0415
    from sparkproof.render.log_text import render_log  # noqa: PLC0415
    from sparkproof.usecases.log import command as log  # noqa: PLC0415
    from sparkproof.usecases.log import response as log_response  # noqa: PLC0415

    if bool(source) == bool(response):
        raise click.UsageError("give either a SOURCE or --response FILE")
    if any((kernel, metrics, pressure)) and not postmortem:
        raise click.UsageError("--kernel, --metrics and --pressure need --postmortem")
    if inspect and response:
        raise click.UsageError("--inspect goes with a SOURCE")
    if response:
        report = log_response.explain_response(response)
    elif postmortem:
        report = log.explain_death(
            source, inspect=inspect, kernel=kernel, metrics=metrics, pressure=pressure
        )
    elif follow:
        report = log.follow_log(
            source, lambda text: write_lines([line(text)], to_stderr=True), inspect=inspect
        )
    else:
        report = log.explain_log(source, inspect=inspect)
    if redact:
        from sparkproof.usecases.log.redaction import redact_report  # noqa: PLC0415

        report = redact_report(report)
    raise SystemExit(emit(report, render_log, as_json=as_json, verbose=verbose))
