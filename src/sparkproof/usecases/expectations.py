"""What a deployment promises about its server, and what a boot log adds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparkproof.adapters.log_sources import open_log
from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.observations.boot_log import BootLog
from sparkproof.core.results.smoke import Expected, LogSays
from sparkproof.core.text import shorten
from sparkproof.core.unknown import Unknown
from sparkproof.usecases.fit.arguments import Arguments, find_parser, read_arguments
from sparkproof.usecases.fit.inputs import version_of_artifact
from sparkproof.usecases.log.command import read_last_boot

_SERVED = "--served-model-name"
_NAMES, _NAME = 8, 80
"""Names that a message shows, and characters of each."""


def expected_of(
    deployment: Deployment | None, *, version: str = "", names: Sequence[str] = ()
) -> Expected:
    """What was promised: the deployment's words, and the user's on top.

    The arguments are typed by the shipped parser of the release; the artifact itself is not read
    for them, which takes seconds that a server is not to be kept waiting for.

    Raises:
        UsageError: the deployment's arguments are nonsense.
    """
    if deployment is None:
        return Expected(version=version, version_from="--expect", names=tuple(names))
    of_artifact = version_of_artifact(deployment.artifact)
    taken = read_arguments(deployment.args, find_parser(of_artifact, ""), of_artifact)
    stated = version or of_artifact
    return Expected(
        version=stated,
        version_from="--expect" if version else f"the artifact {deployment.artifact}",
        names=(*names, *(deployment.served_names or _named(taken, deployment, _SERVED))),
        tool_parser=(_named(taken, deployment, "--tool-call-parser") or ("",))[0],
        reasoning_parser=(_named(taken, deployment, "--reasoning-parser") or ("",))[0],
        drafts=taken.args.speculation is not None,
        kv_dtype=taken.args.kv_dtype,
        prefix_caching=taken.args.prefix_caching,
    )


def _named(taken: Arguments, deployment: Deployment, flag: str) -> tuple[str, ...]:
    """The values of a flag, as the release's parser took them where there is one."""
    if taken.line is None:
        return values_of(deployment.args, flag)
    value = taken.line.get(flag)
    items = value if isinstance(value, list) else [value]
    return tuple(str(item) for item in items if item is not None)


def values_of(arguments: Sequence[str], flag: str) -> tuple[str, ...]:
    """The values after a flag, or behind its ``=``."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name.replace("_", "-") == flag:
            if equals:
                return (value,)
            rest = arguments[place + 1 :]
            end = next((n for n, word in enumerate(rest) if word.startswith("--")), len(rest))
            return tuple(rest[:end])
    return ()


def log_says(source: str) -> LogSays:
    """What the last boot in a log says about silent features.

    Raises:
        FormatError, UnreachableError, UsageError: no log of vLLM, or it can't be read.
    """
    _, boot = read_last_boot(open_log(source))
    on = next((f for f in reversed(boot.features) if f.feature == "async_scheduling"), None)
    eager = _flag(boot, "enforce_eager")
    sizes = [int(n) for n in re.findall(r"\d+", boot.argument("cudagraph_capture_sizes") or "")]
    return LogSays(
        async_scheduling=on.on if on else _flag(boot, "async_scheduling"),
        async_why=on.why if on else "",
        eager=eager,
        largest_graph=max(sizes, default=_number(boot, "max_cudagraph_capture_size")),
        max_num_seqs=_number(boot, "max_num_seqs"),
        speculative_tokens=_drafted(boot),
    )


def _flag(boot: BootLog, name: str) -> bool | None:
    return {"True": True, "False": False}.get(boot.argument(name) or "")


def _number(boot: BootLog, name: str) -> int:
    text = boot.argument(name) or ""
    return int(text) if text.isdecimal() else 0


def _drafted(boot: BootLog) -> int:
    found = re.search(
        r"num_speculative_tokens\D{1,4}(\d+)", boot.argument("speculative_config") or ""
    )
    return int(found[1]) if found else 0


def refuse_model(
    served: Sequence[str],
    wanted: str,
    unknowns: Sequence[Unknown] = (),
    who: str = "the server",
) -> str:
    """The name to use: the one asked for, else the first that is served.

    Args:
        unknowns: of the snapshot, which say what stood in the place of a list.
        who: lists them, for the message.

    Raises:
        UsageError: what was asked for can be no name, or is none of those that are served.
        UnreachableError: nothing is served, and no name was given.
    """
    if not wanted.isprintable():
        raise UsageError(
            "--model holds characters that no name can have",
            hint="leave it out for the first that the server names",
        )
    if wanted and served and wanted not in served:
        shown = ", ".join(shorten(name, _NAME) for name in served[:_NAMES])
        more = f" and {len(served) - _NAMES} more" if len(served) > _NAMES else ""
        raise UsageError(
            f"`{shorten(wanted, _NAME)}` is not served; {who} has {shown}{more}",
            hint="--model takes one of them; without it the first is asked",
        )
    if wanted or served:
        return wanted or served[0]
    usual = "it may be no vLLM, or still loading"
    why = next((f"{u.where}: {u.why}" for u in unknowns if u.topic == "models"), usual)
    raise UnreachableError(
        f"{who} lists no model: {why}",
        hint="ask /v1/models by hand, or name one with --model",
    )
