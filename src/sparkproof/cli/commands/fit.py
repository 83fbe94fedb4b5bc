"""``sparkproof fit CHECKPOINT|DEPLOYMENT.toml [-- VLLM ARGS]``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkproof.cli.options import Gib, device_option, output_options

_jobs = click.IntRange(0, 1 << 16)
_count = click.IntRange(1, 1 << 40)


def _tenants(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> dict[str, float]:
    found = {}
    for item in value:
        name, _, size = item.rpartition("=")
        if not name:
            raise click.BadParameter(f"`{item}` is no NAME=GIB")
        found[name] = Gib().convert(size, _param, _ctx)
    return found


@click.command("fit")
@click.argument("checkpoint")
@click.argument("vllm_args", nargs=-1, type=click.UNPROCESSED)
@click.option("--vllm", "version", default="", metavar="VERSION", help="vLLM version.")
@click.option("--artifact", default="", metavar="REF", help="Take the version from a wheel.")
@click.option("--drafter", default="", metavar="CHECKPOINT", help="Draft model of the flags.")
@click.option("--kv-gib", type=Gib(), help="KV pool as a boot log prints it.")
@click.option("--weights-gib", type=Gib(), help="Weights as a boot log prints them.")
@click.option("--rest-gib", type=Gib(), help="What a log shows beside weights, graphs and pool.")
@click.option(
    "--meminfo",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A saved /proc/meminfo of the box.",
)
@click.option("--total-gib", type=Gib(), help="Memory that the device reports.")
@click.option("--reserve-gib", type=Gib(), help="What has to stay free; default 15.")
@click.option(
    "--tenant", multiple=True, callback=_tenants, metavar="NAME=GIB", help="Another server."
)
@click.option("--sequences", type=_count, default=None, help="Solve for this many.")
@click.option("--length", type=_count, default=None, help="Tokens of each of them.")
@click.option("--typical-length", type=_count, default=None, help="Tokens traffic uses.")
@click.option("--jobs", type=_jobs, default=0, help="Compiler jobs at a cold start.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the bars."
)
@device_option
@output_options
def command(
    *,
    checkpoint: str,
    vllm_args: tuple[str, ...],
    tenant: dict[str, float],
    sequences: int | None,
    length: int | None,
    typical_length: int | None,
    html: Path | None,
    as_json: bool,
    verbose: bool,
    **given: object,
) -> None:
    """Say what CHECKPOINT's KV pool holds and where every byte of memory goes.

    CHECKPOINT is a folder with config.json, that file, or a deployment TOML. What follows `--`
    is what would follow `vllm serve MODEL`.
    """
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.fit_text import render_fit  # noqa: PLC0415
    from sparkproof.usecases.fit.command import fit, fit_request  # noqa: PLC0415

    request = fit_request(
        checkpoint,
        vllm_args,
        tenants=tenant,
        sequences=sequences or 0,
        length=length or 0,
        typical_length=typical_length or 0,
        **given,
    )
    report = fit(request)
    if html is not None:
        from sparkproof.cli.output import write_page  # noqa: PLC0415
        from sparkproof.render.fit_html import fit_page  # noqa: PLC0415

        write_page(html, fit_page(report))
    raise SystemExit(emit(report, render_fit, as_json=as_json, verbose=verbose))
