"""The version that a log states beside what its image says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packaging.version import InvalidVersion, Version

from sparkproof.adapters.log_sources import inspect_container, read_small
from sparkproof.core.errors import SparkproofError
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.unknown import Unknown
from sparkproof.facts.image_contents import image_contents
from sparkproof.image.track import claimed_version, same_version
from sparkproof.recipe.docker_inspect import MAX_BYTES, InspectedContainer, parse_docker_inspect

_RULE = "log/version-claim"
_CONTAINER = "container:"
_TITLE = "org.opencontainers.image.title"


def read_inspect(path: Path) -> InspectedContainer:
    """A saved inspection.

    Raises:
        FormatError, UnreachableError: it is none, or can't be read.
    """
    return parse_docker_inspect(read_small(path, MAX_BYTES), path.name)


def find_container(
    text: str, inspect: Path | None
) -> tuple[InspectedContainer | None, tuple[Unknown, ...]]:
    """What is known of the container behind a log: saved, or asked of the engine.

    Raises:
        FormatError, UnreachableError: the saved file is none, or can't be read.
    """
    if inspect is not None:
        return read_inspect(inspect), ()
    if not text.startswith(_CONTAINER):
        return None, ()
    try:
        data = inspect_container(text.removeprefix(_CONTAINER))
        return parse_docker_inspect(data, text), ()
    except SparkproofError as error:
        # Its log could be read: that is worth an answer without the image as well.
        return None, (Unknown(where=text, why=f"inspect: {error}", topic="log"),)


def judge_claims(version: str, container: InspectedContainer | None) -> tuple[Finding, ...]:
    """One finding: claims that differ from the log's version, else those that agree."""
    if container is None or not version:
        return ()
    claims = [pair for pair in _claims(container) if _comparable(pair[1], version)]
    differing = [pair for pair in claims if not same_version(pair[1], version)]
    if not claims:
        return ()
    told = " and ".join(f"{source} says {claim}" for source, claim in differing or claims)
    evidence = (Evidence(where=container.image, what=container.digest or container.image_id),)
    if not differing:
        what = f"the log states {version}, as {told}"
        return (Finding(_RULE, Severity.INFO, Confidence.SHOWN, what, "vllm", evidence=evidence),)
    return (
        Finding(
            _RULE,
            Severity.WARNING,
            Confidence.SHOWN,
            f"{told}, the server in it states {version}",
            "vllm",
            evidence=evidence,
            remedy=f"go by {version}: pin the image by its digest, and read what is in it: "
            f"sparkproof image {container.image}",
        ),
    )


def _claims(container: InspectedContainer) -> Iterator[tuple[str, str]]:
    """What tag and labels say of vLLM; those of a base image or of another program don't."""
    name, _, tag = container.image.partition("@")[0].rpartition(":")
    if not name or "/" in tag:
        name, tag = container.image, ""
    labels = container.labels
    about = " ".join((name, tag, labels.get(_TITLE, ""))).lower()
    if "vllm" not in about:
        return
    claims = [(f"tag {tag}", claimed_version(tag))]
    claims += [
        (f"label {key}", claimed_version(labels.get(key, "")))
        for key in image_contents().version_labels
    ]
    yield from (pair for pair in claims if pair[1])


def _comparable(claim: str, version: str) -> bool:
    """Whether both are numbers of one series: a monthly image's 25.11 is none of vLLM's."""
    try:
        return Version(claim).major == Version(version).major
    except InvalidVersion:
        return False
