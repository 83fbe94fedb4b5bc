"""``sparkproof image REF`` and ``sparkproof image diff A B``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sparkproof.cli.default_verb import ShowByDefault
from sparkproof.cli.options import device_option, offline_option, output_options

F = TypeVar("F", bound=Callable[..., Any])


def _image_options(function: F) -> F:
    for option in (
        output_options,
        offline_option,
        click.option("--all-layers", is_flag=True, help="Fetch layers whose build step tells all."),
        click.option("--platform", default="aarch64", show_default=True, help="CPU of the box."),
        device_option,
    ):
        function = option(function)
    return function


@click.group("image", cls=ShowByDefault)
def command() -> None:
    """Show what is really in a container image, or what changes between two.

    REF is an image in a registry (vllm/vllm-openai:v0.33.0), a saved archive (./image.tar), an
    OCI layout (./folder), engine:NAME or container:NAME.
    """


@command.command("show", short_help="Show what is really in an image.")
@click.argument("ref")
@_image_options
def show(
    *,
    ref: str,
    device: str,
    platform: str,
    all_layers: bool,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show what is really in an image, against its tag and labels (`image REF` does the same)."""
    from sparkproof.adapters.cache import ArtifactCache  # noqa: PLC0415
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.core.target import Target  # noqa: PLC0415
    from sparkproof.render.image_text import render_image  # noqa: PLC0415
    from sparkproof.usecases.image import look_at_image  # noqa: PLC0415

    report = look_at_image(
        ref,
        device=device,
        target=Target(platform=platform),
        all_layers=all_layers,
        offline=offline,
        progress=make_progress(quiet=as_json),
        cache=ArtifactCache(),
    )
    raise SystemExit(emit(report, render_image, as_json=as_json, verbose=verbose))


@command.command("diff", short_help="Show what changes between two images.")
@click.argument("before")
@click.argument("after")
@_image_options
def diff(
    *,
    before: str,
    after: str,
    device: str,
    platform: str,
    all_layers: bool,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show what changes from image BEFORE to image AFTER; the verdict is that of AFTER."""
    from sparkproof.adapters.cache import ArtifactCache  # noqa: PLC0415
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.core.target import Target  # noqa: PLC0415
    from sparkproof.render.image_text import render_image_diff  # noqa: PLC0415
    from sparkproof.usecases.image import compare_images  # noqa: PLC0415

    report = compare_images(
        before,
        after,
        device=device,
        target=Target(platform=platform),
        all_layers=all_layers,
        offline=offline,
        progress=make_progress(quiet=as_json),
        cache=ArtifactCache(),
    )
    raise SystemExit(emit(report, render_image_diff, as_json=as_json, verbose=verbose))
