"""``sparkproof release REF``, ``release diff A B``."""

from __future__ import annotations

from functools import partial

import click

from sparkproof.cli.default_verb import ShowByDefault
from sparkproof.cli.options import device_option, offline_option, output_options

vllm_option = click.option(
    "--vllm", default="", metavar="VERSION", help="A release whose surface is shipped, e.g. 0.33.0."
)


@click.group("release", cls=ShowByDefault)
def command() -> None:
    """Show what a vLLM release says about itself, without running it.

    REF is a version (0.33.0: its surface is shipped), a requirement such as vllm==0.33.0, a
    wheel, an installed tree or checkout (tree:FOLDER), or an sdist.
    """


@command.command("show", short_help="Show what a release says about itself.")
@click.argument("ref", default="")
@vllm_option
@click.option(
    "--section",
    default="",
    metavar="NAME",
    help="oracles, options, env, configs, models, rules, parsers, metrics, endpoints, messages, "
    "pins, or all.",
)
@device_option
@offline_option
@output_options
def show(
    ref: str,
    vllm: str,
    section: str,
    device: str,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show orders, defaults, options, models, rules and wording of a release."""
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.release_text import render_release  # noqa: PLC0415
    from sparkproof.usecases.release.command import look_at_release  # noqa: PLC0415

    if not ref and not vllm:
        raise click.UsageError("name a release, e.g. 0.33.0 or vllm==0.33.0")
    report = look_at_release(
        ref,
        vllm=vllm,
        section=section,
        device=device,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    raise SystemExit(emit(report, render_release, as_json=as_json, verbose=verbose))


@command.command("diff")
@click.argument("before")
@click.argument("after")
@click.argument("vllm_args", nargs=-1, type=click.UNPROCESSED)
@device_option
@offline_option
@output_options
def diff(
    before: str,
    after: str,
    vllm_args: tuple[str, ...],
    device: str,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show what changes from BEFORE to AFTER on a device, worst first.

    Behind `--` stand your own vLLM arguments: what touches them is marked as yours.
    """
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.release_diff_text import render_diff  # noqa: PLC0415
    from sparkproof.usecases.release.diff import compare_releases  # noqa: PLC0415

    report = compare_releases(
        before,
        after,
        device=device,
        arguments=vllm_args,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    draw = partial(render_diff, verbose=verbose)
    raise SystemExit(emit(report, draw, as_json=as_json, verbose=verbose))


@command.command("args")
@click.argument("ref", default="")
@click.argument("vllm_args", nargs=-1, type=click.UNPROCESSED)
@vllm_option
@offline_option
@output_options
def args(
    ref: str, vllm_args: tuple[str, ...], vllm: str, offline: bool, as_json: bool, verbose: bool
) -> None:
    """Put vLLM arguments to a release's own parser.

    Behind `--` stands what would follow `vllm serve`.
    """
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.serve_line_text import render_serve_line  # noqa: PLC0415
    from sparkproof.usecases.release.args import check_arguments  # noqa: PLC0415

    if vllm and ref:
        ref, vllm_args = "", (ref, *vllm_args)
    if not ref and not vllm:
        raise click.UsageError("name a release, e.g. 0.33.0 or vllm==0.33.0")
    report = check_arguments(
        ref, vllm_args, vllm=vllm, offline=offline, progress=make_progress(quiet=as_json)
    )
    raise SystemExit(emit(report, render_serve_line, as_json=as_json, verbose=verbose))


@command.command("contains", short_help="Tell whether a checkout holds a pull request.")
@click.argument("number")
@click.argument("checkout")
@output_options
def contains(number: str, checkout: str, as_json: bool, verbose: bool) -> None:
    """Tell whether a git checkout's history holds a pull request, e.g. '#48245'."""
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.release_text import render_contains  # noqa: PLC0415
    from sparkproof.usecases.release.source import look_for_pull_request  # noqa: PLC0415

    report = look_for_pull_request(number, checkout)
    raise SystemExit(emit(report, render_contains, as_json=as_json, verbose=verbose))


@command.command("builds")
@click.argument("ref")
@click.option("--cuda", default="13.0", show_default=True, help="Version of the CUDA compiler.")
@click.option("--arch-list", default="", help="TORCH_CUDA_ARCH_LIST; default: all it supports.")
@device_option
@offline_option
@output_options
def builds(
    ref: str,
    cuda: str,
    arch_list: str,
    device: str,
    offline: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show which kernel families a source build gets.

    REF is a checkout (tree:FOLDER) or an sdist.
    """
    from sparkproof.adapters.progress import make_progress  # noqa: PLC0415
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.release_text import render_builds  # noqa: PLC0415
    from sparkproof.usecases.release.source import plan_build  # noqa: PLC0415

    report = plan_build(
        ref,
        cuda=cuda,
        arch_list=arch_list,
        device=device,
        offline=offline,
        progress=make_progress(quiet=as_json),
    )
    raise SystemExit(emit(report, render_builds, as_json=as_json, verbose=verbose))
