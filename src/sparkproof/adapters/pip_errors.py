"""What pip means when it fails, in one line with the way out.

Wordings as pip 25.1 to 26.3 print them (run and read 2026-11-29); anything else is passed on.
"""

from __future__ import annotations

import re

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.redaction import redact_text
from sparkproof.core.refs import redact_url
from sparkproof.core.target import Target

_UPGRADE = "python -m pip install --upgrade pip"
_FETCH = re.compile(
    r"Could not fetch URL (?P<url>\S+): (?P<why>.*?)(?: - skipping)?$", re.MULTILINE
)
_WRONG_TAGS = re.compile(
    r"Skipping link: none of the wheel's tags .*?compatible.*?: (?P<url>\S+)(?: |$)", re.MULTILINE
)
_SOURCE = re.compile(r"Skipping link: No sources permitted for \S+: (?P<url>\S+)", re.MULTILINE)
_VERSIONS = re.compile(r"\(from versions: (?P<versions>[^)]*)\)")
_CONSTRAINT = re.compile(r"The user requested \(constraint\) (?P<constraint>.+?)\s*$", re.MULTILINE)
_REFUSED = re.compile(r"\b(401|403)\b")
_FOUND = re.compile(r"Found link (?P<url>\S+?),? .*version: (?P<version>\S+)$", re.MULTILINE)


class PipResult(msgspec.Struct, frozen=True):
    """What one call of pip left: exit status, output, log file and report."""

    returncode: int
    stdout: str = ""
    stderr: str = ""
    log: str = ""
    report: str = ""


def explain_failure(name: str, spec: str, target: Target, result: PipResult) -> UnreachableError:
    """The error for a resolution that failed, likeliest cause first."""
    asked = f"{name}{spec}"
    if "No module named pip" in result.stderr:
        return UnreachableError(
            "this Python environment has no pip, which knows where packages come from",
            hint="uv pip install pip, or python -m ensurepip",
        )
    if result.returncode == 2 and re.search(r"no such option|invalid choice", result.stderr):
        return UnreachableError("pip is too old to say what it would install", hint=_UPGRADE)
    if trouble := _index_trouble(result.log, name):
        return trouble
    found = tuple(m["version"] for m in _FOUND.finditer(result.log))
    matching = _matching(spec, found)
    if matching and (constraint := _CONSTRAINT.search(result.log)):
        return UnreachableError(
            f"pip's constraint {redact_text(constraint['constraint'])} rules out {asked}",
            hint="see `pip config list` for the constraints file, or name another version",
        )
    if matching:
        return UnreachableError(
            f"{asked} can't be resolved: {last_error(result)}",
            hint="see what `pip download` says to it, or name a file",
        )
    return _absent(name, spec, target, result, found)


def last_error(result: PipResult) -> str:
    """pip's last complaint, in one redacted line."""
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    text = (errors or lines or [f"exit status {result.returncode}"])[-1].strip()
    return redact_text(redact_url(text))[:300]


def _index_trouble(log: str, name: str) -> UnreachableError | None:
    for match in _FETCH.finditer(log):
        why = match["why"]
        if re.match(r"404\b", why):
            continue
        where = re.sub(
            rf"/{re.escape(name)}/?\Z", "", redact_url(match["url"]), flags=re.IGNORECASE
        )
        if _REFUSED.match(why):
            return UnreachableError(
                f"the package index {where} refuses us ({why[:3]})",
                hint="its user and password belong in pip's configuration, netrc or keyring",
            )
        reason = redact_text(redact_url(why))
        return UnreachableError(
            f"the package index {where} can't be reached: {reason[:200].lower()}",
            hint="check the network and `pip config list`, or use what is cached with --offline",
        )
    return None


def _absent(
    name: str, spec: str, target: Target, result: PipResult, found: tuple[str, ...]
) -> UnreachableError:
    asked = f"{name}{spec}"
    elsewhere = _other_platforms(spec, result.log)
    if elsewhere:
        return UnreachableError(
            f"there is no wheel of {asked} for {target}", hint=f"there is one for {elsewhere}"
        )
    if found:
        newest = sorted(set(found), key=Version)[-3:]
        return UnreachableError(
            f"no version of {name} for {target} matches `{spec}`",
            hint=f"the newest there are {', '.join(newest)}",
        )
    if any(_is_asked(name, spec, match["url"]) for match in _SOURCE.finditer(result.log)):
        return UnreachableError(
            f"{asked} is on pip's indexes as source alone: there is no wheel of it",
            hint="it is compiled where it is installed: name that folder, tree:SITE-PACKAGES",
        )
    return UnreachableError(
        f"there is no wheel of {asked} for {target} on pip's indexes",
        hint="check the spelling, and `pip config list` for the indexes that are asked",
    )


def _is_asked(name: str, spec: str, url: str) -> bool:
    """Whether a source archive is of a version that was asked for."""
    filename = redact_url(url).rsplit("/", 1)[-1]
    try:
        found, version = parse_sdist_filename(filename)
    except InvalidSdistFilename:
        return not spec
    return found == canonicalize_name(name) and bool(_matching(spec, (str(version),)))


def _other_platforms(spec: str, log: str) -> str:
    platforms: set[str] = set()
    for match in _WRONG_TAGS.finditer(log):
        try:
            _, version, _, tags = parse_wheel_filename(redact_url(match["url"]).rsplit("/", 1)[-1])
        except InvalidWheelFilename:
            continue
        if _matching(spec, (str(version),)):
            platforms |= {f"{tag.interpreter}-{tag.platform}" for tag in tags}
    return ", ".join(sorted(platforms)[:4])


def _matching(spec: str, versions: tuple[str, ...]) -> list[str]:
    try:
        return list(SpecifierSet(spec).filter(versions, prereleases=True))
    except InvalidSpecifier as error:
        raise UsageError(f"`{spec}` is no version specifier", hint="e.g. ==0.33.0") from error
