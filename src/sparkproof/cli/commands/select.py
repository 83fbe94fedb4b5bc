"""``sparkproof select CHECKPOINT…``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkproof.cli.after_dashes import SplitCommand, after_dashes
from sparkproof.cli.options import offline_option, output_options, own_device_option, package_option

_STORE = click.Path(path_type=Path, file_okay=False)


@click.command("select", cls=SplitCommand, options_metavar="[OPTIONS]")
@click.argument("checkpoints", nargs=-1, required=True, metavar="CHECKPOINT... [-- VLLM_ARGS]")
@click.option("--artifact", default="", metavar="REF", help="Wheel, requirement, folder or image.")
@click.option("--vllm", default="", metavar="VERSION", help="A release, without any artifact.")
@own_device_option
@click.option("--nvcc/--no-nvcc", default=None, help="nvcc is, or is not, where vLLM runs.")
@click.option("--ninja/--no-ninja", default=None, help="ninja is, or is not, where vLLM runs.")
@package_option
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Environment of the server.")
@click.option("--store", type=_STORE, help="Receipts folder.")
@offline_option
@output_options
def command(
    checkpoints: tuple[str, ...],
    artifact: str,
    vllm: str,
    device: str,
    nvcc: bool | None,
    ninja: bool | None,
    packages: tuple[str, ...],
    env: tuple[str, ...],
    store: Path | None,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show which kernel every layer class gets, and why.

    CHECKPOINT is a folder, a config.json, a hub repository, or a deployment TOML; several stand
    side by side. What follows -- is what would follow `vllm serve MODEL`.

    \b
    sparkproof select ./checkpoint --artifact vllm==0.33.0
    sparkproof select ./checkpoint --vllm 0.33.0
    sparkproof select ./w4a4 ./w4a16 --artifact vllm==0.33.0 -- --kv-cache-dtype fp8
    """
    from functools import partial  # noqa: PLC0415

    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.deployment import gather_deployment  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.core.errors import UsageError  # noqa: PLC0415
    from sparkproof.render.select_text import render_select  # noqa: PLC0415
    from sparkproof.usecases.select import select  # noqa: PLC0415

    asked = [
        gather_deployment(
            reference,
            artifact=artifact,
            device=device,
            vllm_args=after_dashes(),
            env=env,
            box={"nvcc": nvcc, "ninja": ninja},
            packages=packages,
        )
        for reference in checkpoints
    ]
    if vllm and artifact:
        raise UsageError("--vllm stands in for an artifact", hint="give it or --artifact")
    report = select(
        asked,
        vllm=vllm,
        offline=offline,
        progress=make_progress(quiet=as_json),
        store=ReceiptStore(store or default_folder()),
    )
    body = partial(render_select, verbose=verbose)
    raise SystemExit(emit(report, body, as_json=as_json, verbose=verbose))
