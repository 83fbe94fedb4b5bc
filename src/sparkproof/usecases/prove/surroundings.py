"""Findings about what stands around the kernels: tag, environment, sampler, facts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.deployment import Box
from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.image_name import ImageName, parse_image_name
from sparkproof.core.prediction import Prediction
from sparkproof.core.refs import RefKind, parse_ref
from sparkproof.core.results.proof import Branch
from sparkproof.core.subject import Subject
from sparkproof.facts.backend import backends
from sparkproof.facts.releases import holds
from sparkproof.facts.sampler import sampler
from sparkproof.image.track import is_moving
from sparkproof.usecases.prove.branch import TOOLS, Look
from sparkproof.usecases.sampler_route import builds_sampler

_PIN = "pin "
"""Before the digest among the notes of an image's subject."""


def find_moving_tag(reference: str, subject: Subject) -> tuple[Finding, ...]:
    """A tag that can name another image tomorrow, of which nothing would be proven.

    Args:
        reference: the artifact as the deployment names it.
    """
    name = _image_name(reference) if subject.kind is RefKind.IMAGE else None
    if name is None or name.digest or not is_moving(name.tag):
        return ()
    pins = (note.removeprefix(_PIN) for note in subject.notes if note.startswith(_PIN))
    pin = next(pins, "")
    return (
        Finding(
            rule="deliver/moving-tag",
            severity=Severity.WARNING,
            confidence=Confidence.INFERRED,
            message=f"tag {name.tag} can be another image tomorrow: what is proven is the one that "
            "it names today",
            subject=name.title,
            remedy=f"deploy {name.pinned(pin)}" if pin else "deploy by digest",
        ),
    )


def _image_name(reference: str) -> ImageName | None:
    """Of an image in a registry or an engine; None for an archive or a container."""
    try:
        value = parse_ref(reference, RefKind.IMAGE).value
        return parse_image_name(value.removeprefix("engine:"))
    except UsageError:
        return None


def find_ignored_variables(look: Look) -> tuple[Finding, ...]:
    """Variables that steered an earlier release and that this one does not read."""
    known = set(look.surface.env_names)
    if not known:
        return ()
    return tuple(
        Finding(
            rule="select/ignored-variable",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=f"vllm {look.surface.version} does not read {name}",
            subject="environment",
            remedy="drop it, and say what it was for with a flag of this release",
        )
        for name in sorted(look.env)
        if name.startswith("VLLM_") and name not in known
    )


def find_sampler(box: Box, look: Look) -> tuple[Finding, ...]:
    """The default sampler where no compiler is there for it."""
    used = sampler()
    missing = [tool for tool in TOOLS if getattr(box, tool) is False]
    unstated = [tool for tool in TOOLS if getattr(box, tool) is None]
    if not (missing or unstated) or not builds_sampler(box, look):
        return ()
    absent = f"the box has no {' and no '.join(missing)}" if missing else ""
    asked = f"{' and '.join(unstated)} may be missing" if unstated and not missing else ""
    return (
        Finding(
            rule="deliver/sampler-needs-compiler",
            severity=Severity.WARNING,
            confidence=Confidence.INFERRED,
            message=f"{used.provider} compiles the default sampler while the server starts, "
            f"nothing stands in for it, and {absent or asked}",
            subject="sampler",
            evidence=(Evidence("v1/sample/ops/topk_topp_sampler.py", used.source),),
            remedy=f"set {used.variable}=0, or put nvcc and ninja into the image",
        ),
    )


def sampler_condition(box: Box, look: Look) -> str:
    """What the headline must say beside kernels that pass; "" where the sampler is no trouble."""
    if all(getattr(box, tool) for tool in TOOLS) or not builds_sampler(box, look):
        return ""
    stated = any(getattr(box, tool) is False for tool in TOOLS)
    where = "" if stated else f"without {' and '.join(TOOLS)} "
    return f"{where}only with {sampler().variable}=0: nothing else stands in for the sampler"


def find_unread_release(branches: Sequence[Branch], release: str) -> tuple[Finding, ...]:
    """Picks whose needs were read in other releases than this one."""
    picks = [layer.prediction for branch in branches for layer in branch.layers]
    known = {backends()[p.implementation].holds_for for p in picks if p and _is_known(p)}
    beyond = sorted(specifier for specifier in known if not holds(specifier, release))
    if not beyond:
        return ()
    return (
        Finding(
            rule="deliver/release-not-read",
            severity=Severity.WARNING,
            confidence=Confidence.INFERRED,
            message=f"what these backends need was read in vllm {', '.join(beyond)}, "
            f"this is {release}",
            subject="backends",
            remedy="compare with the boot log of this release, or take a newer sparkproof",
        ),
    )


def _is_known(prediction: Prediction) -> bool:
    return prediction.implementation in backends()
