"""What commands there are: name, group in the help, module, one line. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One row; the module's ``command`` attribute is imported when it is run.

    Attributes:
        subcommands: names of the verbs, where the command is a group of them.
        default: the verb that is meant where the first word is none.
    """

    name: str
    section: str
    module: str
    summary: str
    subcommands: tuple[str, ...] = ()
    default: str = ""


_P = "sparkproof.cli.commands."
SECTIONS = ("prove", "look", "live", "know and keep")
COMMANDS = (
    CommandEntry("prove", "prove", _P + "prove", "Prove a deployment before it is deployed"),
    CommandEntry("select", "prove", _P + "select", "Show which kernel each layer gets, and why"),
    CommandEntry("fit", "prove", _P + "fit", "Plan the KV pool to the digit, and the memory"),
    CommandEntry("suggest", "prove", _P + "suggest", "Suggest a first deployment, proven"),
    CommandEntry(
        "upgrade", "prove", _P + "upgrade", "Show what another release does to your deployments"
    ),
    CommandEntry("wheel", "look", _P + "wheel", "Show what device code an artifact delivers"),
    CommandEntry(
        "image",
        "look",
        _P + "image",
        "Show what is really in a container image",
        ("show", "diff"),
        default="show",
    ),
    CommandEntry(
        "release",
        "look",
        _P + "release",
        "Show what a vLLM release says about itself, and what changed",
        ("show", "diff", "args", "contains", "builds"),
        default="show",
    ),
    CommandEntry(
        "checkpoint", "look", _P + "checkpoint", "Show what a checkpoint declares and stores"
    ),
    CommandEntry("log", "look", _P + "log", "Read a vLLM log: facts, and a failure's cause"),
    CommandEntry("smoke", "live", _P + "smoke", "Ask a live server first things first; warm it up"),
    CommandEntry("soak", "live", _P + "soak", "Soak a server, and prove its pressure"),
    CommandEntry("ab", "live", _P + "ab", "Set treatments against a control: quality and speed"),
    CommandEntry("bench", "live", _P + "bench", "Benchmark a server, and judge the measurement"),
    CommandEntry("why", "live", _P + "why", "Find out why an agent stalls or a reply is odd"),
    CommandEntry(
        "compare", "know and keep", _P + "compare", "Compare benchmarks, and earn the because"
    ),
    CommandEntry(
        "receipt",
        "know and keep",
        _P + "receipt",
        "List, show, export, judge and verify receipts",
        ("list", "show", "export", "judge", "verify"),
    ),
    CommandEntry(
        "facts",
        "know and keep",
        _P + "facts",
        "Put dated claims about vLLM to an artifact",
        ("list", "show", "stale", "verify", "matrix"),
    ),
    CommandEntry("explain", "know and keep", _P + "explain", "Explain a rule, flag, claim or word"),
    CommandEntry(
        "completion", "know and keep", _P + "completion", "Print a shell completion script"
    ),
)


def command_of(words: Sequence[str]) -> str:
    """``receipt show`` for a command line's leading words; "" where they name no whole command."""
    for entry in COMMANDS:
        if words and words[0] == entry.name:
            if not entry.subcommands:
                return entry.name
            verb = words[1] if len(words) > 1 else ""
            verb = verb if verb in entry.subcommands else entry.default
            return f"{entry.name} {verb}" if verb else ""
    return ""
