"""Whether an artifact is built for the CPU of the box."""

from __future__ import annotations

from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.subject import Subject
from sparkproof.facts.schema import Hardware


def cpu_of(hardware: Hardware) -> str:
    """CPU architecture of every box with the device, as wheels name it; "" where boxes differ."""
    fact = hardware.facts.get("cpu_architecture")
    return str(fact.value) if fact is not None else ""


def find_other_platform(subject: Subject, platform: str) -> tuple[Finding, ...]:
    """The artifact's platform tag, where pip on the box would not take it.

    Args:
        platform: of the box; "" where nothing is known of it.
    """
    built = {tag.rpartition("-")[2] for tag in subject.tags}
    fits = not built or any(name == "any" or name.endswith(f"_{platform}") for name in built)
    if fits or not platform:
        return ()
    return (
        Finding(
            rule="deliver/other-platform",
            severity=Severity.ERROR,
            confidence=Confidence.SHOWN,
            message=f"built for {', '.join(sorted(built))}, the box is {platform}",
            subject=subject.title,
            remedy=f"name the requirement {subject.name}=={subject.version} instead of a file",
        ),
    )


def refuse_other_platform(subject: Subject, platform: str) -> None:
    """For answers that make sense on the box alone.

    Raises:
        UsageError: the artifact is built for another CPU.
    """
    for finding in find_other_platform(subject, platform):
        raise UsageError(f"{subject.title}: {finding.message}", hint=finding.remedy)
