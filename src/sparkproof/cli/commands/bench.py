"""``sparkproof bench URL``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkproof.cli.options import (
    EXISTING_FILE,
    model_option,
    output_options,
    page_option,
    receipt_options,
    receipts_of,
    say,
    timeout_option,
)

if TYPE_CHECKING:
    from sparkproof.core.report import Report
    from sparkproof.core.results.bench import BenchResult
    from sparkproof.usecases.bench.command import Arm


@click.command("bench")
@click.argument("server", metavar="URL")
@click.option("--mode", "modes", multiple=True, help="answer, thinking or raw (repeatable).")
@click.option("--depth", "depths", multiple=True, type=int, help="Prompt tokens (repeatable).")
@click.option("--output", default=256, show_default=True, help="Tokens to generate, forced.")
@click.option("--concurrency", multiple=True, type=int, help="Closed loop: streams (repeatable).")
@click.option("--rate", multiple=True, type=float, help="Open loop: requests a second.")
@click.option("--requests", default=0, help="Requests per cell and repeat; default by the load.")
@click.option("--repeats", default=3, show_default=True, help="Whole rounds over all cells.")
@model_option
@click.option("--deployment", type=EXISTING_FILE, help="Deployment TOML: what is being served.")
@click.option("--box", default="", metavar="NAME", help="The machine it runs on.")
@click.option("--against", default="", metavar="URL", help="Measure this one too, in turns.")
@click.option("--against-deployment", type=EXISTING_FILE, help="What is served there.")
@click.option("--against-box", default="", metavar="NAME", help="The machine it runs on.")
@timeout_option(600.0)
@page_option("Write a page with plots.")
@receipt_options
@output_options
def command(
    *,
    server: str,
    modes: tuple[str, ...],
    depths: tuple[int, ...],
    output: int,
    concurrency: tuple[int, ...],
    rate: tuple[float, ...],
    requests: int,
    repeats: int,
    model: str,
    deployment: Path | None,
    box: str,
    against: str,
    against_deployment: Path | None,
    against_box: str,
    timeout: float,
    html: Path | None,
    receipt: bool,
    store: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Benchmark a live server, and say whether the measurement is one.

    Prompts that no prefix cache has seen, forced lengths, the server's own token counts, medians
    of three rounds with their spread. Inconclusive where the client was too slow, prompts were
    cached, requests preempted, or the engine restarted; labelled loaded beside other traffic.

    \b
    sparkproof bench http://127.0.0.1:8000 --depth 6000 --concurrency 1 --concurrency 8
    """
    from sparkproof.cli.output import emit_or_interrupt  # noqa: PLC0415
    from sparkproof.load.schedule import make_plan  # noqa: PLC0415
    from sparkproof.render.bench_text import render_bench  # noqa: PLC0415
    from sparkproof.usecases.bench.command import bench  # noqa: PLC0415

    plan = make_plan(
        modes=modes or ("answer",),
        depths=depths or (1024,),
        output=output,
        concurrencies=concurrency or (() if rate else (1,)),
        rates=rate,
        requests=requests,
        repeats=repeats,
    )
    report = bench(
        _arm(server, deployment, box),
        plan,
        against=_arm(against, against_deployment, against_box or box) if against else None,
        model=model,
        timeout_s=timeout,
        store=receipts_of(store) if receipt else None,
        say=say,
    )
    _write_page(html, report)
    body = partial(render_bench, criteria=report.criteria)
    raise SystemExit(emit_or_interrupt(report, body, as_json=as_json, verbose=verbose))


def _arm(server: str, deployment: Path | None, box: str) -> Arm:
    from sparkproof.usecases.bench.command import Arm  # noqa: PLC0415
    from sparkproof.usecases.fit.inputs import read_deployment  # noqa: PLC0415

    return Arm(server, read_deployment(deployment) if deployment else None, box)


def _write_page(path: Path | None, report: Report[BenchResult]) -> None:
    if path is None:
        return
    from sparkproof.cli.output import write_page  # noqa: PLC0415
    from sparkproof.render.bench_html import bench_page  # noqa: PLC0415

    write_page(path, bench_page(report))
