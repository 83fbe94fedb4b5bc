"""What commands there are: name, group in the help, module, one line. Imports nothing heavy."""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One row; the module's ``command`` attribute is imported when it is run."""

    name: str
    section: str
    module: str
    summary: str


_P = "sparkproof.cli.commands."
SECTIONS = ("prove", "look", "live", "know and keep")
COMMANDS = (
    CommandEntry("prove", "prove", _P + "prove", "Prove a deployment before it is deployed"),
    CommandEntry("wheel", "look", _P + "wheel", "Show what device code an artifact delivers"),
    CommandEntry("receipt", "know and keep", _P + "receipt", "List, show and verify receipts"),
    CommandEntry("explain", "know and keep", _P + "explain", "Explain a rule, device or word"),
    CommandEntry(
        "completion", "know and keep", _P + "completion", "Print a shell completion script"
    ),
)
