"""Which layers of a remote image need not be fetched, and why that can be told."""

from __future__ import annotations

import re
from functools import cache

from sparkproof.facts.image_contents import image_contents
from sparkproof.formats.layer_merge import LayerStack
from sparkproof.formats.oci import ImageConfig

SMALL_BYTES = 48 << 20
"""A layer that is fetched whatever it is: reading it settles more than thinking about it."""
DATABASE = "var/lib/dpkg/status"


def reason_to_skip(config: ImageConfig, number: int, stored_bytes: int, above: LayerStack) -> str:
    """Why a layer need not be read; "" if it has to be.

    A step that only installs packages of the distribution is told by the package database, once
    a layer above has shown it.

    Args:
        number: of the layer, lowest first.
        above: the layers above it, read already.
    """
    if stored_bytes <= SMALL_BYTES or DATABASE not in above.files:
        return ""
    command = config.commands[number] if number < len(config.commands) else ""
    if _system_step(command):
        return "its build step installs packages of the distribution only; their database is read"
    return ""


def _system_step(command: str) -> bool:
    return any(
        wanted.search(command) and not unless.search(command) for wanted, unless in _patterns()
    )


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple(
        (re.compile(step.wanted), re.compile(step.unless)) for step in image_contents().system_steps
    )
