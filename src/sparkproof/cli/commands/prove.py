"""``sparkproof prove DEPLOYMENT``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkproof.cli.after_dashes import SplitCommand, after_dashes
from sparkproof.cli.options import (
    Gib,
    offline_option,
    output_options,
    own_device_option,
    package_option,
    page_path,
)

if TYPE_CHECKING:
    from sparkproof.core.deployment import Deployment
    from sparkproof.core.report import Report
    from sparkproof.core.results.proof import ProofResult

_PAGE = click.Path(path_type=Path, dir_okay=False)
_SKIPPABLE = click.Choice(["soak", "ab", "bench"])


@click.command("prove", cls=SplitCommand)
@click.argument("deployment", metavar="DEPLOYMENT [-- VLLM_ARGS]")
@click.option("--checkpoint", default="", metavar="REF", help="In place of the deployment's.")
@click.option("--artifact", default="", metavar="REF", help="Wheel, requirement, folder or image.")
@own_device_option
@click.option("--nvcc/--no-nvcc", default=None, help="nvcc is, or is not, where vLLM runs.")
@click.option("--ninja/--no-ninja", default=None, help="ninja is, or is not, where vLLM runs.")
@package_option
@click.option("--weights-gib", type=Gib(), help="Weights as a boot log prints them.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Environment of the server.")
@click.option("--log", default="", metavar="LOG", help="Boot log to hold the proof against.")
@click.option("--live", default="", metavar="URL", help="The running server: ask it as well.")
@click.option("--control", default="", metavar="URL", help="With --live: a control arm for ab.")
@click.option("--quick", is_flag=True, help="With --live: short gates.")
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(["soak", "bench"]),
    help="With --live: leave this out.",
)
@click.option("--html", type=_PAGE, callback=page_path, help="Write a page for a colleague.")
@click.option("--receipt/--no-receipt", default=True, help="Write a receipt (default: yes).")
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), help="Receipts folder.")
@offline_option
@output_options
def command(
    *,
    as_json: bool,
    verbose: bool,
    html: Path | None,
    **asked: Any,
) -> None:
    """Prove a deployment before it is deployed, and with --live while it runs.

    DEPLOYMENT is a deployment TOML, `container:NAME` or saved `docker inspect` JSON, a launch
    script (.sh), or a checkpoint (a folder with config.json, or the file) with the rest as
    options. What follows -- is what would follow `vllm serve MODEL`.

    --live chains it all into one verdict: the proof, the boot log, does the server match, smoke,
    soak, ab (with --control), bench.

    \b
    sparkproof prove deployment.toml
    sparkproof prove ./checkpoint --artifact vllm==0.33.0 -- --kv-cache-dtype fp8
    sparkproof prove deployment.toml --live http://127.0.0.1:8000 --log boot.log --html proof.html
    """
    from sparkproof.cli.output import emit_or_interrupt  # noqa: PLC0415
    from sparkproof.render.live_proof_text import render_live_proof  # noqa: PLC0415

    report = _prove(quiet=as_json, **asked)
    if html is not None:
        from sparkproof.cli.output import write_page  # noqa: PLC0415
        from sparkproof.render.live_proof_html import proof_page  # noqa: PLC0415

        write_page(html, proof_page(report))
    body = partial(render_live_proof, verbose=verbose)
    raise SystemExit(emit_or_interrupt(report, body, as_json=as_json, verbose=verbose))


def _prove(
    *,
    quiet: bool,
    live: str,
    control: str,
    quick: bool,
    skip: tuple[str, ...],
    log: str,
    offline: bool,
    receipt: bool,
    store: Path | None,
    **described: Any,
) -> Report[ProofResult]:
    from sparkproof.adapters.progress import StatusLine, make_progress  # noqa: PLC0415
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.output import write_lines  # noqa: PLC0415
    from sparkproof.render.lines import line  # noqa: PLC0415
    from sparkproof.usecases.prove.command import prove  # noqa: PLC0415

    if (control or quick or skip) and not live:
        raise click.UsageError("--control, --quick and --skip need --live URL")
    deployment = _deployment(**described)
    common: dict[str, Any] = {
        "offline": offline,
        "progress": make_progress(quiet=quiet),
        "store": ReceiptStore(store or default_folder()) if receipt else None,
    }
    if not live:
        return prove(deployment, log=log, **common)
    from sparkproof.usecases.prove.live import prove_live  # noqa: PLC0415
    from sparkproof.usecases.prove.live_parts import LiveRequest  # noqa: PLC0415

    status = StatusLine()
    status.start()
    try:
        return prove_live(
            deployment,
            LiveRequest(live, control=control, log=log, quick=quick, skip=skip),
            say=lambda text: write_lines([line(text)], to_stderr=True),
            show=status.show,
            **common,
        )
    finally:
        status.finish()


def _deployment(
    *,
    deployment: str,
    nvcc: bool | None,
    ninja: bool | None,
    **parts: Any,
) -> Deployment:
    from sparkproof.cli.deployment import gather_deployment, refuse_elsewhere  # noqa: PLC0415

    described = gather_deployment(
        deployment, vllm_args=after_dashes(), box={"nvcc": nvcc, "ninja": ninja}, **parts
    )
    if not parts["checkpoint"]:
        refuse_elsewhere(described, deployment)
    return described
