"""Our own Python for a process apart: the one way in which such a process is started.

It finds what this process finds and nothing more: without ``-P``, modules lying in the current
folder would run in place of ours, and so they would for an empty entry of ``PYTHONPATH``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

_LEFT_OUT = frozenset({"PYTHONINSPECT", "PYTHONSTARTUP"})
"""They make an interpreter wait for somebody, or run a file of theirs."""


def own_python(arguments: Sequence[str]) -> list[str]:
    """The command line for our own interpreter with these arguments."""
    flags = ["-P"]
    flags += ["-E"] if sys.flags.ignore_environment else []
    flags += ["-s"] if sys.flags.no_user_site else []
    return [sys.executable, *flags, *arguments]


def own_environment(
    environment: Mapping[str, str] = os.environ, more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment for it.

    Args:
        environment: what it inherits.
        more: variables to set besides.
    """
    kept = {name: value for name, value in environment.items() if name not in _LEFT_OUT}
    if path := kept.pop("PYTHONPATH", ""):
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, path.split(os.pathsep)))
    return {**kept, **(more or {})}
