"""``sparkproof suggest CHECKPOINT --artifact REF``."""

from __future__ import annotations

import click

from sparkproof.cli.options import Gib, device_option, offline_option, output_options


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
    device: str,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Suggest a first deployment, with a reason for every line.

    Candidates are proven one after another, from the one that is wished for to the plainest; the
    first that proves is printed, with what to soak first and what to try if it fails.

    \b
    sparkproof suggest ./checkpoint --artifact vllm==0.33.0 --for agent --nvcc --ninja
    sparkproof suggest ./checkpoint --artifact 0.33.0 --beside chat.toml
    """
    from functools import partial  # noqa: PLC0415

    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.deployment import gather_deployment  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.core.deployment import Box  # noqa: PLC0415
    from sparkproof.render.suggest_text import render_suggest  # noqa: PLC0415
    from sparkproof.usecases.suggest import Wanted, suggest  # noqa: PLC0415
    from sparkproof.usecases.upgrade_sides import shipped_surface  # noqa: PLC0415

    wanted = Wanted(
        checkpoint=checkpoint,
        artifact=artifact,
        purpose=purpose,
        device=device,
        box=Box(nvcc=nvcc, ninja=ninja),
        beside=tuple(gather_deployment(item) for item in beside),
        context=context or 0,
        sequences=sequences or 0,
        weights_gib=weights_gib,
    )
    report = suggest(
        wanted,
        surfaces=shipped_surface,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    body = partial(render_suggest, verbose=verbose)
    raise SystemExit(emit(report, body, as_json=as_json, verbose=verbose))
