"""``sparkproof checkpoint REF``."""

from __future__ import annotations

from functools import partial

import click

from sparkproof.cli.options import offline_option, output_options


@click.command("checkpoint")
@click.argument("ref")
@click.option("--vllm", default="", metavar="VERSION", help="Show what this release makes of it.")
@click.option(
    "--kv-cache-dtype",
    default="auto",
    show_default=True,
    metavar="DTYPE",
    help="As the server will be told.",
)
@offline_option
@output_options
def command(
    ref: str, vllm: str, kv_cache_dtype: str, offline: bool, as_json: bool, verbose: bool
) -> None:
    """Show what a checkpoint declares and stores, layer class by layer class.

    REF is a folder, a config.json, or a repository as ORG/NAME or ORG/NAME@REVISION. Metadata
    and the headers of safetensors files are read, never the weights.
    """
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.checkpoint_text import render_checkpoint  # noqa: PLC0415
    from sparkproof.usecases.checkpoint import look_at_checkpoint  # noqa: PLC0415

    report = look_at_checkpoint(
        ref,
        vllm=vllm,
        kv_cache_dtype=kv_cache_dtype,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    body = partial(render_checkpoint, verbose=verbose)
    raise SystemExit(emit(report, body, as_json=as_json, verbose=verbose))
