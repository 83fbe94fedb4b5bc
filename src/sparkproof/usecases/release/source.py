"""Questions to a source tree: which pull request it holds, and what a build of it gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sparkproof.adapters.git import find_pull_request
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.ports import Progress
from sparkproof.core.report import Report
from sparkproof.core.results.release import BuildResult, ClaimSaid, Contains
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict
from sparkproof.facts.book import find_device
from sparkproof.facts.claim import claims
from sparkproof.release.arch_list import read_arch, split_list
from sparkproof.release.builds import read_builds
from sparkproof.usecases.envelope import make_report

_NUMBER = re.compile(r"#?(\d{1,7})\Z")
_LOWER_BOUND = re.compile(r">=(\d+(?:\.\d+)*)\Z")
_CUDA = re.compile(r"\d{2}(?:\.\d{1,2}){0,2}\Z")


def look_for_pull_request(number: str, checkout: str) -> Report[Contains]:
    """Whether a checkout's history holds a pull request.

    Raises:
        UsageError, UnreachableError: as they say.
    """
    match = _NUMBER.match(number.strip())
    if match is None:
        raise UsageError(f"`{number}` is no number of a pull request", hint="e.g. '#48245'")
    folder = Path(checkout.removeprefix("tree:")).expanduser()
    found = find_pull_request(folder, int(match[1]))
    wanted = int(match[1])
    said = tuple(_said_of(wanted, found.first_tag))
    result = Contains(wanted, found.commit, found.subject, found.first_tag, found.head, said)
    where = f"{folder.name or 'the checkout'} at {found.head[:12]}"
    unknowns: tuple[Unknown, ...] = ()
    verdict = Verdict.PASS if found.commit else Verdict.FAIL
    answer = "holds" if found.commit else "does not hold"
    if not found.commit and found.shallow:
        why = "the history is cut off (a shallow clone)"
        unknowns = (Unknown(where=".git/shallow", why=why, hint="git fetch --unshallow"),)
        verdict, answer = Verdict.INCONCLUSIVE, "can't be asked about"
    return make_report(
        "release contains",
        result,
        verdict=verdict,
        summary=f"{where} {answer} #{result.number}",
        unknowns=unknowns,
    )


def _said_of(number: int, first_tag: str) -> Iterator[ClaimSaid]:
    """Claims about a pull request, each held against the first release tag that has it."""
    for claim in claims().values():
        if f"#{number}" in claim.about:
            bound = _LOWER_BOUND.match(claim.said)
            known = bound is not None and bool(first_tag)
            agrees = first_tag == f"v{bound[1]}" if known and bound else None
            yield ClaimSaid(claim.id, " ".join(claim.statement.split()), claim.said, agrees)


def plan_build(
    reference: str,
    *,
    cuda: str,
    arch_list: str,
    device: str = "gb10",
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[BuildResult]:
    """Which kernel families a source build gets for a device.

    Args:
        reference: a checkout or an sdist.
        cuda: version of the CUDA compiler.
        arch_list: ``TORCH_CUDA_ARCH_LIST``.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    archs = split_list(arch_list)
    strange = [item for item in archs if read_arch(item) is None]
    if strange:
        raise UsageError(
            f"`{strange[0]}` is no architecture", hint="e.g. 12.1, 12.1a, 12.0f or 9.0+PTX"
        )
    if not _CUDA.match(cuda):
        raise UsageError(f"`{cuda}` is no CUDA version", hint="e.g. 13.0")
    hardware = find_device(device)
    subject, artifact = open_artifact(reference, offline=offline, progress=progress, whole=True)
    try:
        families = read_builds(artifact, cuda, archs, hardware.capability)
    finally:
        artifact.close()
    result = BuildResult(subject.version, cuda, archs, str(hardware.capability), families)
    served = sum(item.serves for item in families)
    return make_report(
        "release builds",
        result,
        verdict=Verdict.PASS if served else Verdict.FAIL,
        summary=f"{subject.title}: {served} of {len(families)} kernel groups serve a {hardware.id}",
        subjects=(subject,),
        findings=tuple(_misses(result)),
        facts=(f"hardware/{hardware.id}",),
    )


def _misses(result: BuildResult) -> list[Finding]:
    """Groups that are built for a near device, and not for this one."""
    major = result.capability.split(".", maxsplit=1)[0]
    found: list[Finding] = []
    for item in result.families:
        miss = f"which does not load on {result.capability}"
        near = [arch for arch in item.built if arch.startswith(f"{major}.")]
        if near and not item.serves:
            found.append(
                Finding(
                    rule="release/build-misses-device",
                    severity=Severity.WARNING,
                    confidence=Confidence.DOCUMENTED,
                    message=f"compiled for {', '.join(near)}, {miss}",
                    subject=item.family,
                    evidence=(
                        Evidence(
                            item.source.path, f"wants {', '.join(item.wanted)}", item.source.line
                        ),
                    ),
                    remedy=f"TORCH_CUDA_ARCH_LIST={result.capability}a, with CUDA 13 or newer",
                )
            )
    return found
