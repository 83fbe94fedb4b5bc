"""What a model that takes images costs at start, where the flags leave it open. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.deployment import Deployment
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, LayerClass
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.release.serve_line import parse_serve_line

_LIMIT, _TEXT_ONLY = "--limit-mm-per-prompt", "--language-model-only"
_SETTLED = (_LIMIT, "--skip-mm-profiling", "--mm-encoder-only")


def find_encoder_budget(
    deployment: Deployment,
    profile: CheckpointProfile,
    surface: ReleaseSurface,
    arguments: SelectionArgs,
) -> Iterator[Finding]:
    """Where nobody has said how many images a prompt may bring."""
    limit = surface.option(_LIMIT)
    if limit is None or arguments.text_only or not profile.of(LayerClass.VISION):
        return
    line = parse_serve_line(surface, ("MODEL", *deployment.args))
    if any(line.get(flag) is not None for flag in _SETTLED):
        return
    none = _TEXT_ONLY if surface.option(_TEXT_ONLY) else f'{_LIMIT} \'{{"image":0,"video":0}}\''
    yield Finding(
        rule="memory/encoder-budget",
        severity=Severity.INFO,
        confidence=Confidence.SHOWN,
        message=f"the model takes images and no {_LIMIT} is given: start-up runs the encoder on "
        "items of the largest size, memory that text alone does not need",
        subject="vision",
        evidence=(limit.source.evidence(f"registers {_LIMIT}"),),
        remedy=f"for text alone {none}, else a limit for each kind",
    )
