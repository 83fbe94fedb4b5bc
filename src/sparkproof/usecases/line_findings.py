"""What a release says to a deployment's arguments as a whole: on its model, on its box. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sparkproof.checkpoint.limits import read_limits
from sparkproof.core.deployment import Deployment
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.redaction import redact_arguments
from sparkproof.core.serve_line import ServeLine
from sparkproof.facts.book import find_device
from sparkproof.release.line_judge import NOTHING_KNOWN, Surroundings, judge_line
from sparkproof.release.serve_line import parse_serve_line

_CONFIG = "config.json"
_GPUS = "gpus_per_box"
_OTHER_CONFIG = ("--hf-overrides", "--hf-config-path", "--config-format")
"""Flags after which the model's config says something else than its file."""


def surroundings_of(deployment: Deployment, files: Mapping[str, bytes]) -> Surroundings:
    """What a deployment's arguments are judged beside.

    Args:
        files: of its checkpoint, by name.
    """
    config = files.get(_CONFIG, b"")
    return surroundings(config, deployment.device, deployment.env)


def surroundings(config: bytes, device: str, env: Mapping[str, str]) -> Surroundings:
    """What arguments are judged beside: a model's config ("" for none), a device, variables."""
    limits = read_limits(config) if config else None
    gpus = find_device(device).facts.get(_GPUS) if device else None
    return Surroundings(
        longest=limits.longest if limits else 0,
        length=limits.length if limits else 0,
        heads=limits.heads if limits else 0,
        gpus=int(gpus.value) if gpus is not None else 0,
        env=dict(env),
    )


def find_in_parsed(
    surface: ReleaseSurface, line: ServeLine, beside: Surroundings = NOTHING_KNOWN
) -> tuple[Finding, ...]:
    """Refusals of a list as a whole, and flags over which another wins.

    What its reader complains of, word by word, is not among them.
    """
    if any(line.get(flag) for flag in _OTHER_CONFIG):
        beside = msgspec.structs.replace(beside, longest=0, length=0, heads=0)
    return judge_line(surface, line, beside)


def refused_together(
    surface: ReleaseSurface, deployment: Deployment, files: Mapping[str, bytes]
) -> dict[str, str]:
    """What the release has against a deployment's arguments as a whole, by flag.

    Args:
        files: of its checkpoint; empty where it was not read.
    """
    line = parse_serve_line(surface, ("MODEL", *redact_arguments(deployment.args)))
    found = find_in_parsed(surface, line, surroundings_of(deployment, files))
    return {item.subject: item.message for item in found if item.severity is Severity.ERROR}
