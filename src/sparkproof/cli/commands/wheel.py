"""``sparkproof wheel REF``."""

from __future__ import annotations

import click

from sparkproof.cli.options import device_option, offline_option, output_options


@click.command("wheel")
@click.argument("ref")
@device_option
@click.option("--archs", is_flag=True, help="List architectures only: quicker, nothing judged.")
@click.option("--platform", default="", help="CPU of the box; default: the device's, or aarch64.")
@click.option("--python", default="3.12", show_default=True, help="Python on the box.")
@offline_option
@output_options
def command(
    ref: str,
    device: str,
    archs: bool,
    platform: str,
    python: str,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show what device code an artifact delivers, and what of it DEVICE can run.

    REF is a wheel, a requirement such as vllm==0.33.0 (found through pip's own configuration),
    an installed tree or folder (tree:FOLDER), or an sdist.
    """
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.wheel_text import render_wheel  # noqa: PLC0415
    from sparkproof.usecases.wheel import look_at_wheel  # noqa: PLC0415

    report = look_at_wheel(
        ref,
        device=device,
        archs_only=archs,
        platform=platform,
        python=python,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    raise SystemExit(emit(report, render_wheel, as_json=as_json, verbose=verbose))
