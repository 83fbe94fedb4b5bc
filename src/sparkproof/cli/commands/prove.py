"""``sparkproof prove DEPLOYMENT``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkproof.cli.options import offline_option, output_options


@click.command("prove")
@click.argument("deployment")
@click.argument("vllm_args", nargs=-1, type=click.UNPROCESSED)
@click.option("--checkpoint", default="", metavar="REF", help="In place of the deployment's.")
@click.option("--artifact", default="", metavar="REF", help="Wheel, requirement or folder.")
@click.option("--device", default="", metavar="DEVICE", help="Default: the deployment's, or gb10.")
@click.option("--nvcc/--no-nvcc", default=None, help="nvcc is, or is not, where vLLM runs.")
@click.option("--ninja/--no-ninja", default=None, help="ninja is, or is not, where vLLM runs.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Environment of the server.")
@click.option("--log", default="", metavar="LOG", help="Boot log to hold the proof against.")
@click.option("--receipt/--no-receipt", default=True, help="Write a receipt (default: yes).")
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), help="Receipts folder.")
@offline_option
@output_options
def command(
    deployment: str,
    vllm_args: tuple[str, ...],
    checkpoint: str,
    artifact: str,
    device: str,
    nvcc: bool | None,
    ninja: bool | None,
    env: tuple[str, ...],
    log: str,
    receipt: bool,
    store: Path | None,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Prove a deployment before it is deployed.

    DEPLOYMENT is a deployment TOML, `container:NAME` or saved `docker inspect` JSON, or a
    checkpoint (a folder with config.json, or the file) with the rest as options. What follows
    -- is what would follow `vllm serve MODEL`.

    \b
    sparkproof prove deployment.toml
    sparkproof prove ./checkpoint --artifact vllm==0.33.0 -- --kv-cache-dtype fp8
    """
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.adapters.store import ReceiptStore, default_folder  # noqa: PLC0415
    from sparkproof.cli.deployment import gather_deployment  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.proof_text import render_proof  # noqa: PLC0415
    from sparkproof.usecases.prove import prove  # noqa: PLC0415

    asked = gather_deployment(
        deployment,
        checkpoint=checkpoint,
        artifact=artifact,
        device=device,
        vllm_args=vllm_args,
        env=env,
        box={"nvcc": nvcc, "ninja": ninja},
    )
    report = prove(
        asked,
        offline=offline,
        progress=make_progress(quiet=as_json),
        store=ReceiptStore(store or default_folder()) if receipt else None,
        log=log,
    )
    raise SystemExit(emit(report, render_proof, as_json=as_json, verbose=verbose))
