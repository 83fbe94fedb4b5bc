"""``sparkproof ab CONTROL TREATMENT...``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkproof.cli.options import (
    EXISTING_FILE,
    Seconds,
    model_option,
    output_options,
    page_option,
    receipt_options,
    receipts_of,
    records_options,
    say,
    timeout_option,
)

if TYPE_CHECKING:
    from sparkproof.core.report import Report
    from sparkproof.core.results.ab import AbResult
    from sparkproof.usecases.ab.arms import ArmRef


class Share(click.types.FloatParamType):
    """A share: ``1%`` or ``0.01``."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = -1.0
        if not 0 < number < 1:
            self.fail(f"`{text[:40]}` is no share, such as 1% or 0.01", param, ctx)
        return number


@click.command("ab")
@click.argument("servers", metavar="CONTROL [TREATMENT]...", nargs=-1, required=True)
@click.option("--aa", is_flag=True, help="Ask one server twice: what is its noise?")
@click.option("--tasks", type=EXISTING_FILE, help="Your own tasks, one JSON object a line.")
@click.option("--scorer-command", default="", metavar="CMD", help="Scores tasks without a scorer.")
@click.option("--detect", type=Share(), default="1%", show_default=True, help="Corruption to see.")
@click.option("--power", type=Share(), default="0.9", show_default=True, help="How surely.")
@click.option("--prompts", default=0, help="How many; default: as the two above need.")
@click.option("--concurrency", multiple=True, type=int, help="Batch sizes (default: 1 and 8).")
@click.option("--rounds", default=3, show_default=True, help="Rounds in which arms take turns.")
@click.option("--warm/--cold", default=True, help="Ask each prompt again, warm (default).")
@click.option("--speed/--no-speed", default=True, help="Compare speeds too (default).")
@click.option("--expect-different", "differ", multiple=True, metavar="WHAT", help="checkpoint")
@click.option("--restart-control", default="", metavar="CMD", help="Brings the control up.")
@click.option(
    "--restart-treatment", multiple=True, metavar="CMD", help="Brings the treatment up there."
)
@click.option(
    "--wait", type=Seconds(), default=900.0, metavar="SECONDS", help="For a server brought up."
)
@click.option(
    "--control-deployment", type=EXISTING_FILE, help="Deployment TOML: what the control is."
)
@click.option(
    "--treatment-deployment",
    multiple=True,
    type=EXISTING_FILE,
    help="Each treatment, in order.",
)
@click.option(
    "--treatment-log",
    multiple=True,
    metavar="SOURCE",
    help="What each treatment logs to, in order: says why it died.",
)
@click.option("--box", default="", metavar="NAME", help="The machine that all arms run on.")
@model_option
@timeout_option(600.0)
@records_options
@page_option()
@receipt_options
@output_options
def command(
    *,
    html: Path | None,
    receipt: bool,
    store: Path | None,
    as_json: bool,
    verbose: bool,
    **more: Any,
) -> None:
    """Set treatments against a control arm: quality and speed in one verdict.

    Scored extraction, tool calls and greedy probes, one at a time and in a batch, cold and warm;
    the control against itself first. Says what it could have seen.

    \b
    sparkproof ab http://127.0.0.1:8000 http://127.0.0.1:8001
    sparkproof ab http://127.0.0.1:8000 --aa
    """
    from sparkproof.cli.output import emit_or_interrupt  # noqa: PLC0415
    from sparkproof.gates.ab import make_cells  # noqa: PLC0415
    from sparkproof.render.ab_text import render_ab  # noqa: PLC0415
    from sparkproof.usecases.ab.command import ab  # noqa: PLC0415
    from sparkproof.usecases.ab.wish import AbWish  # noqa: PLC0415

    arms = _arms(more)
    wish = AbWish(
        cells=tuple(make_cells(more["concurrency"] or (1, 8), warm=more["warm"])),
        tasks=str(more["tasks"] or ""),
        timeout_s=more["timeout"],
        wait_s=more["wait"],
        **{name: more[name] for name in _WISHES},
    )
    report = ab(
        arms,
        wish,
        store=receipts_of(store) if receipt else None,
        say=say,
    )
    _write_page(html, report)
    body = partial(render_ab, criteria=report.criteria)
    raise SystemExit(emit_or_interrupt(report, body, as_json=as_json, verbose=verbose))


_WISHES = (
    *("aa", "scorer_command", "detect", "power", "prompts", "rounds", "speed", "differ", "box"),
    *("model", "resume", "records"),
)


def _arms(more: dict[str, Any]) -> list[ArmRef]:
    """The control first. With commands there is one URL, and a command for each arm.

    Raises:
        UsageError: commands, deployments and addresses do not go together.
    """
    from sparkproof.core.errors import UsageError  # noqa: PLC0415
    from sparkproof.usecases.ab.arms import ArmRef  # noqa: PLC0415
    from sparkproof.usecases.fit.inputs import read_deployment  # noqa: PLC0415

    servers: tuple[str, ...] = more["servers"]
    commands: tuple[str, ...] = (more["restart_control"], *more["restart_treatment"])
    if any(commands):
        if not all(commands) or len(commands) < 2 or len(servers) > 1:
            raise UsageError(
                "commands that bring arms up go with one URL, one command an arm",
                hint="--restart-control CMD --restart-treatment CMD",
            )
        servers = servers * len(commands)
    else:
        commands = ("",) * len(servers)
    stated = [more["control_deployment"], *more["treatment_deployment"]]
    logs = ["", *more["treatment_log"]]
    if max(len(stated), len(logs)) > max(2, len(servers)):
        raise UsageError("more deployments or logs than arms", hint="one for each treatment")
    files = [read_deployment(path) if path else None for path in stated]
    files += [None] * len(servers)
    logs += [""] * len(servers)
    return [ArmRef(*parts) for parts in zip(servers, files, commands, logs, strict=False)]


def _write_page(path: Path | None, report: Report[AbResult]) -> None:
    if path is None:
        return
    from sparkproof.cli.output import write_page  # noqa: PLC0415
    from sparkproof.render.ab_html import ab_page  # noqa: PLC0415

    write_page(path, ab_page(report))
