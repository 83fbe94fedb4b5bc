"""``sparkproof upgrade DEPLOYMENT… --to REF``."""

from __future__ import annotations

import click

from sparkproof.cli.options import offline_option, output_options, own_device_option, package_option


@click.command("upgrade")
@click.argument("deployments", nargs=-1, required=True, metavar="DEPLOYMENT...")
@click.option(
    "--to",
    required=True,
    metavar="REF",
    help="Version number, requirement, wheel, folder or image to go to.",
)
@click.option(
    "--from", "present", default="", metavar="REF", help="What runs now, if not as they say."
)
@click.option("--checkpoint", default="", metavar="REF", help="In place of the deployments' own.")
@own_device_option
@click.option("--nvcc/--no-nvcc", default=None, help="nvcc is, or is not, where vLLM runs.")
@click.option("--ninja/--no-ninja", default=None, help="ninja is, or is not, where vLLM runs.")
@package_option
@click.option("--since", is_flag=True, help="Say which release in between brings what.")
@offline_option
@output_options
def command(
    deployments: tuple[str, ...],
    to: str,
    present: str,
    checkpoint: str,
    device: str,
    nvcc: bool | None,
    ninja: bool | None,
    packages: tuple[str, ...],
    since: bool,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show what another release does to your deployments, and only that.

    DEPLOYMENT is a deployment TOML, `container:NAME` or saved `docker inspect` JSON; several at
    once. Each is put to the release it runs on and to the one named by --to. With a bare version
    number, the surfaces that are shipped are compared, in seconds and without device code; name a
    requirement, wheel or image to have that looked at too.

    \b
    sparkproof upgrade agent.toml chat.toml --to 0.33.0
    sparkproof upgrade container:vllm --to image:vllm/vllm-openai:v0.33.0 --checkpoint ./model
    """
    from functools import partial  # noqa: PLC0415

    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.deployment import gather_deployment  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.upgrade_text import render_upgrade  # noqa: PLC0415
    from sparkproof.usecases.upgrade.command import upgrade  # noqa: PLC0415
    from sparkproof.usecases.upgrade.sides import shipped_surface, shipped_versions  # noqa: PLC0415

    asked = [
        gather_deployment(
            reference,
            checkpoint=checkpoint,
            device=device,
            box={"nvcc": nvcc, "ninja": ninja},
            packages=packages,
        )
        for reference in deployments
    ]
    report = upgrade(
        asked,
        to,
        present=present,
        steps=shipped_versions() if since else (),
        typed=deployments,
        surfaces=shipped_surface,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    body = partial(render_upgrade, verbose=verbose)
    raise SystemExit(emit(report, body, as_json=as_json, verbose=verbose))
