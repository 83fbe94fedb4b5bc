"""``sparkproof suggest CHECKPOINT --artifact REF``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkproof.cli.options import (
    Gib,
    device_option,
    offline_option,
    output_options,
    package_option,
)


@click.command("suggest")
@click.argument("checkpoint")
@click.option(
    "--artifact",
    required=True,
    metavar="REF",
    help="Version number, requirement, wheel, folder or image.",
)
@click.option(
    "--for",
    "purpose",
    default="chat",
    show_default=True,
    metavar="PURPOSE",
    help="agent, chat or extraction.",
)
@click.option("--beside", multiple=True, metavar="DEPLOYMENT", help="Shares the box; repeatable.")
@click.option("--context", type=click.IntRange(1), default=None, help="Tokens of a request.")
@click.option("--sequences", type=click.IntRange(1), default=None, help="Requests at a time.")
@click.option("--weights-gib", type=Gib(), default=None, help="As a boot log prints them.")
@click.option("--nvcc/--no-nvcc", default=None, help="nvcc is, or is not, where vLLM runs.")
@click.option("--ninja/--no-ninja", default=None, help="ninja is, or is not, where vLLM runs.")
@package_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Save the TOML here."
)
@click.option("--force", is_flag=True, help="Overwrite what --output names.")
@device_option
@offline_option
@output_options
def command(
    checkpoint: str,
    artifact: str,
    purpose: str,
    beside: tuple[str, ...],
    context: int | None,
    sequences: int | None,
    weights_gib: float | None,
    nvcc: bool | None,
    ninja: bool | None,
    packages: tuple[str, ...],
    output: Path | None,
    force: bool,
    device: str,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Suggest a first deployment, with a reason for every line.

    Candidates are proven one after another, from the one that is wished for to the plainest; the
    first that proves is printed, with what to soak first and what to try if it fails.

    \b
    sparkproof suggest ./checkpoint --artifact vllm==0.33.0 --for agent --nvcc --ninja -o agent.toml
    sparkproof suggest ./checkpoint --artifact 0.33.0 --beside chat.toml
    """
    from functools import partial  # noqa: PLC0415

    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.deployment import gather_deployment, package_versions  # noqa: PLC0415
    from sparkproof.cli.output import emit, refuse_target, write_text_file  # noqa: PLC0415
    from sparkproof.core.deployment import Box  # noqa: PLC0415
    from sparkproof.render.suggest_text import render_suggest  # noqa: PLC0415
    from sparkproof.usecases.suggest.command import Wanted, suggest  # noqa: PLC0415
    from sparkproof.usecases.upgrade.sides import shipped_surface  # noqa: PLC0415

    refuse_target(output, force=force)
    wanted = Wanted(
        checkpoint=checkpoint,
        artifact=artifact,
        purpose=purpose,
        device=device,
        box=Box(nvcc=nvcc, ninja=ninja, packages=package_versions(packages)),
        beside=tuple(gather_deployment(item) for item in beside),
        context=context or 0,
        sequences=sequences or 0,
        weights_gib=weights_gib,
        output=str(output or ""),
    )
    report = suggest(
        wanted,
        surfaces=shipped_surface,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    write_text_file(output, report.result.toml if report.result is not None else "")
    body = partial(render_suggest, verbose=verbose)
    raise SystemExit(emit(report, body, as_json=as_json, verbose=verbose))
