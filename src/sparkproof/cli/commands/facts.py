"""``sparkproof facts list|show|stale|verify|matrix``."""

from __future__ import annotations

import click

from sparkproof.cli.options import offline_option, output_options

KINDS = ("fact", "version-boundary", "workaround", "blocker", "bad-pin")
kind_option = click.option("--kind", type=click.Choice(KINDS), help="Only claims of this kind.")


@click.group("facts")
def command() -> None:
    """Dated claims about vLLM on this hardware, and what an artifact says of each.

    A claim is one checkable statement with its source, its date, the releases it holds for, and
    a probe that looks it up again.
    """


@command.command("list")
@kind_option
@click.option("--about", default="", metavar="WORD", help="Only claims about a flag or backend.")
@output_options
def list_command(kind: str | None, about: str, as_json: bool, verbose: bool) -> None:
    """List the claims."""
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.facts_text import render_fact_list  # noqa: PLC0415
    from sparkproof.usecases.facts import list_facts  # noqa: PLC0415

    report = list_facts(kind=kind or "", about=about)
    raise SystemExit(emit(report, render_fact_list, as_json=as_json, verbose=verbose, judges=False))


@command.command("show", short_help="Show one claim with its history.")
@click.argument("claim")
@output_options
def show_command(claim: str, as_json: bool, verbose: bool) -> None:
    """Show one CLAIM: source, probe, and what each recorded release says of it."""
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.facts_text import render_fact_page  # noqa: PLC0415
    from sparkproof.usecases.facts import show_fact  # noqa: PLC0415

    report = show_fact(claim)
    raise SystemExit(emit(report, render_fact_page, as_json=as_json, verbose=verbose, judges=False))


@command.command("stale", short_help="List claims that no longer hold.")
@click.option("--days", default=21, show_default=True, help="How old an unprobed look may be.")
@output_options
def stale_command(days: int, as_json: bool, verbose: bool) -> None:
    """Published claims that the newest recorded release contradicts, and old unprobed ones."""
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.facts_text import render_fact_stale  # noqa: PLC0415
    from sparkproof.usecases.facts import find_stale  # noqa: PLC0415

    report = find_stale(days=days)
    raise SystemExit(
        emit(report, render_fact_stale, as_json=as_json, verbose=verbose, judges=False)
    )


@command.command("verify", short_help="Put every claim to an artifact.")
@click.option(
    "--against",
    "reference",
    required=True,
    metavar="REF",
    help="A wheel, requirement or tree to read; or a bare version, answered from its record.",
)
@click.option("--no-device-code", is_flag=True, help="Leave device code out: quicker.")
@click.option("--platform", default="aarch64", show_default=True, help="CPU of the box.")
@click.option("--python", default="3.12", show_default=True, help="Python on the box.")
@offline_option
@output_options
def verify_command(
    reference: str,
    no_device_code: bool,
    platform: str,
    python: str,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Put every claim to an artifact: it holds, it does not, or files can't tell.

    Fails where the artifact contradicts our own book. A published claim that no longer holds, and
    that the book knows not to, is an answer and no failure.
    """
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.core.target import Target  # noqa: PLC0415
    from sparkproof.render.facts_text import render_fact_verification  # noqa: PLC0415
    from sparkproof.usecases.facts import verify_facts  # noqa: PLC0415

    report = verify_facts(
        reference,
        device_code=not no_device_code,
        target=Target(platform=platform, python=python),
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    raise SystemExit(emit(report, render_fact_verification, as_json=as_json, verbose=verbose))


@command.command("matrix")
@kind_option
@output_options
def matrix_command(kind: str | None, as_json: bool, verbose: bool) -> None:
    """Claims by releases: when each was born and when it died."""
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.facts_text import render_fact_matrix  # noqa: PLC0415
    from sparkproof.usecases.facts import make_matrix  # noqa: PLC0415

    report = make_matrix(kind=kind or "")
    raise SystemExit(
        emit(report, render_fact_matrix, as_json=as_json, verbose=verbose, judges=False)
    )
