"""Asking a checkout's history, where git is there; its own configuration runs nothing."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import msgspec

from sparkproof.core.errors import UnreachableError, UsageError

_TIMEOUT_S = 120.0
_CLONE = "is it a whole clone of vLLM, and yours to read?"
_SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "protocol.allow=never",
    "safe.directory=*",
)
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_CONFIG_NOSYSTEM": "1",
}
_RELEASE = re.compile(r"v\d+\.\d+\.\d+\Z")


class Mention(msgspec.Struct, frozen=True):
    """The oldest commit that names a pull request.

    Attributes:
        commit: "" where none does.
        first_tag: oldest release tag that holds it ("" for none).
        shallow: the history is cut off: "none" then says nothing.
    """

    commit: str
    subject: str
    first_tag: str
    head: str
    shallow: bool


def is_checkout(folder: Path) -> bool:
    """Whether git keeps a history of that folder."""
    return (folder / ".git").exists()


def find_pull_request(folder: Path, number: int) -> Mention:
    """The oldest commit of HEAD's history whose subject ends in ``(#number)``.

    Raises:
        UsageError: the folder is no git checkout.
        UnreachableError: there is no git, or it fails.
    """
    if not is_checkout(folder):
        raise UsageError(f"{folder.name or folder} is no git checkout", hint="name its top folder")
    head = _git(folder, "rev-parse", "HEAD")
    shallow = _git(folder, "rev-parse", "--is-shallow-repository") == "true"
    mark = f"(#{number})"
    rows = _git(folder, "log", "--fixed-strings", f"--grep={mark}", "--format=%H%x09%s", "HEAD")
    named = [row.partition("\t") for row in rows.splitlines()]
    found = [(commit, subject) for commit, _, subject in named if subject.endswith(mark)]
    if not found:
        return Mention("", "", "", head, shallow)
    commit, subject = found[-1]
    tags = _git(folder, "tag", "--contains", commit, "--sort=version:refname").splitlines()
    first = next((tag for tag in tags if _RELEASE.match(tag)), "")
    return Mention(commit, subject, first, head, shallow)


def _git(folder: Path, *arguments: str) -> str:
    options = [part for item in _SAFE for part in ("-c", item)]
    command = ["git", "-C", str(folder), "--no-pager", *options, *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program; arguments are numbers and our own
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env={**os.environ, **_QUIET},
        )
    except FileNotFoundError as error:
        raise UnreachableError(
            "there is no git here", hint="install git, or ask a release"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError("git gives no answer", hint=_CLONE) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UnreachableError(f"git fails: {said[-1] if said else done.returncode}", hint=_CLONE)
    return done.stdout.decode(errors="replace").strip()
