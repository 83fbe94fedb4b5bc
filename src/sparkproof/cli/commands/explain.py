"""``sparkproof explain TOPIC``."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from sparkproof.cli.options import output_options


def _complete(_ctx: click.Context, _param: click.Parameter, partial: str) -> list[CompletionItem]:
    from sparkproof.usecases.explain.command import list_topics  # noqa: PLC0415

    result = list_topics().result
    assert result is not None
    return [CompletionItem(p.topic) for p in result.pages if p.topic.startswith(partial)]


@click.command("explain", context_settings={"ignore_unknown_options": True})
@click.argument("topic", nargs=-1, shell_complete=_complete)
@output_options
def command(topic: tuple[str, ...], as_json: bool, verbose: bool) -> None:
    """Explain a rule, claim, flag, backend, failure, device or word; without a TOPIC, list them.

    TOPIC may be a flag of vLLM as it is typed, such as --moe-backend.
    """
    from sparkproof.cli.output import emit  # noqa: PLC0415
    from sparkproof.render.explain_text import render_explanation  # noqa: PLC0415
    from sparkproof.usecases.explain.command import explain, list_topics  # noqa: PLC0415

    report = explain(" ".join(topic)) if topic else list_topics()
    raise SystemExit(
        emit(report, render_explanation, as_json=as_json, verbose=verbose, judges=False)
    )
