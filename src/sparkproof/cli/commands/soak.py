"""``sparkproof soak URL``."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import click

from sparkproof.cli.options import (
    EXISTING_FILE,
    model_option,
    output_options,
    page_option,
    receipt_options,
    receipts_of,
    records_options,
    say,
    timeout_option,
)

_SPAN = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(s|m|min|h|d)?\Z")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class Span(click.ParamType[float]):
    """A stretch of time: ``90``, ``90s``, ``30m``, ``2h``."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        if isinstance(value, float | int):
            return float(value)
        found = _SPAN.match(str(value).strip())
        if not found or not float(found[1]):
            self.fail(f"`{str(value)[:40]}` is no stretch of time such as 90s, 30m or 2h")
        return float(found[1]) * _SECONDS[found[2] or ""]


def _above_zero(context: click.Context, param: click.Parameter, value: int) -> int:
    """Zero stands for the usual where nothing is given; typed, it asks for nothing."""
    from sparkproof.core.errors import UsageError  # noqa: PLC0415

    default = click.core.ParameterSource.DEFAULT
    if value < 1 and context.get_parameter_source(param.name or "") is not default:
        raise UsageError(f"{param.opts[0]} is above 0", hint="leave it out for the usual")
    return value


_PLAN_OPTIONS = ("concurrency", "requests", "duration", "longest", "shared_prefix", "tools",
                 "reasoning", "preempt", "timeout", "model", "seed")  # fmt: skip


@click.command("soak")
@click.argument("server", metavar="URL")
@click.option("--concurrency", default=8, show_default=True, help="Requests in flight.")
@click.option(
    "--requests",
    default=0,
    callback=_above_zero,
    help="How many under load, after those asked alone (400 unless there is a duration).",
)
@click.option("--duration", type=Span(), default=0.0, help="In place of a number: 30m, 2h.")
@click.option(
    "--longest",
    default=0,
    callback=_above_zero,
    metavar="TOKENS",
    help="Longest request, prompt and answer.",
)
@click.option(
    "--shared-prefix", default=0.0, metavar="SHARE", help="Share that begins alike, 0 to 1."
)
@click.option("--tools", is_flag=True, help="Offer tools in a part of the chats.")
@click.option("--reasoning", is_flag=True, help="Have a part of the chats think.")
@click.option("--preempt", is_flag=True, help="Overfill the KV pool, so that requests must yield.")
@click.option("--yes", is_flag=True, help="Do that even to a server that others use.")
@timeout_option(300.0)
@click.option("--log", default="", metavar="SOURCE", help="The server's log, followed meanwhile.")
@click.option("--pid", default=0, help="The server's process; found by its port where local.")
@model_option
@click.option("--deployment", type=EXISTING_FILE, help="Deployment TOML: what is being served.")
@click.option("--seed", default="", help="Makes the same requests again.")
@records_options
@page_option("Write a page with plots.")
@receipt_options
@output_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Soak a live server, and prove what it was put through.

    Mixed lengths, several at once, while counters, health, process and log are watched. Each
    failure is classified; a pass says what was exercised, and what was not. Records are kept as
    they come: Ctrl-C and worse lose nothing, --resume goes on.

    \b
    sparkproof soak http://127.0.0.1:8000 --log server.log
    sparkproof soak http://127.0.0.1:8000 --preempt
    sparkproof soak http://127.0.0.1:8000 --duration 2h --tools --reasoning
    """
    from sparkproof.adapters.progress import StatusLine  # noqa: PLC0415
    from sparkproof.cli.output import emit_or_interrupt  # noqa: PLC0415
    from sparkproof.render.soak_text import render_soak  # noqa: PLC0415
    from sparkproof.usecases.soak.command import soak  # noqa: PLC0415

    _refuse_other_plan(context, given["resume"])
    receipts = receipts_of(given["store"])
    status = StatusLine()
    status.start()
    try:
        report = soak(
            given["server"],
            _wishes(given),
            _around(given),
            model=given["model"],
            seed=given["seed"],
            store=receipts if given["receipt"] else None,
            find_in=receipts,
            say=say,
            show=status.show,
        )
    finally:
        status.finish()
    _write_page(given["html"], report)
    body = partial(render_soak, criteria=report.criteria)
    raise SystemExit(
        emit_or_interrupt(report, body, as_json=given["as_json"], verbose=given["verbose"])
    )


def _refuse_other_plan(context: click.Context, resume: str) -> None:
    """With --resume the plan is that of the records."""
    from sparkproof.core.errors import UsageError  # noqa: PLC0415

    default = click.core.ParameterSource.DEFAULT
    named = [name for name in _PLAN_OPTIONS if context.get_parameter_source(name) is not default]
    if resume and named:
        raise UsageError(
            f"--{named[0].replace('_', '-')} belongs to the plan, which the records hold",
            hint="leave it out, or begin a new soak",
        )


def _wishes(given: dict[str, Any]) -> Any:
    from sparkproof.gates.soak_plan import Wishes  # noqa: PLC0415

    names = ("concurrency", "requests", "longest", "shared_prefix", "tools", "reasoning", "preempt")
    return Wishes(
        duration_s=given["duration"],
        timeout_s=given["timeout"],
        **{name: given[name] for name in names},
    )


def _around(given: dict[str, Any]) -> Any:
    from sparkproof.usecases.fit.inputs import read_deployment  # noqa: PLC0415
    from sparkproof.usecases.soak.command import Surroundings  # noqa: PLC0415

    deployment = given["deployment"]
    names = ("log", "pid", "yes", "resume", "records")
    return Surroundings(
        deployment=read_deployment(deployment) if deployment else None,
        **{name: given[name] for name in names},
    )


def _write_page(path: Path | None, report: Any) -> None:
    if path is None:
        return
    from sparkproof.cli.output import write_page  # noqa: PLC0415
    from sparkproof.render.soak_html import soak_page  # noqa: PLC0415

    write_page(path, soak_page(report))
