"""pip as a subprocess: it alone knows the user's indexes, constraints, proxies and secrets.

Nothing is ever built: only wheels are asked for, without their dependencies.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from sparkproof.adapters.interpreter import own_environment, own_python
from sparkproof.adapters.pip_errors import PipResult, explain_failure, last_error
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.refs import redact_url, requirement_parts
from sparkproof.core.target import Target

RESOLVE_TIMEOUT_S = 900.0
_LOOK_TIMEOUT_S = 120.0
"""For what reads a few documents and the end of a wheel."""
_MEMORY_BYTES = 4 << 30
_BOUNDED = f"""
import resource, runpy
most = resource.getrlimit(resource.RLIMIT_AS)[1]
bound = {_MEMORY_BYTES} if most < 0 else min(most, {_MEMORY_BYTES})
resource.setrlimit(resource.RLIMIT_AS, (bound, most))
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""pip reads whatever an index sends; it is to run out of memory before the machine does."""
_FAST_DEPS = "--use-feature=fast-deps"
_FOUND = re.compile(r"Found link (?P<url>\S+?),? .*version: (?P<version>\S+)$", re.MULTILINE)
_ENVIRONMENT = {
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_PROGRESS_BAR": "off",
    "PIP_NO_COLOR": "1",
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_REQUIRE_HASHES": "0",
    "PYTHONWARNINGS": "ignore",
}


PipRunner = Callable[[Sequence[str], float], PipResult]
"""Runs pip with arguments and a timeout in seconds; ``{log}`` and ``{report}`` and ``{folder}``
in an argument stand for files and an empty folder that the runner provides."""


class Resolution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of an index, as pip chose it.

    Attributes:
        url: without credentials.
        sha256: as the index gives it ("" if it gives none).
        others: file names that the requirement matched too, in the same version.
        etag: the server's strong validator when it was fetched ("" for none).
    """

    name: str
    version: str
    filename: str
    url: str
    sha256: str = ""
    others: tuple[str, ...] = ()
    etag: str = ""


def run_pip(arguments: Sequence[str], timeout_s: float = RESOLVE_TIMEOUT_S) -> PipResult:
    """Run the pip of our own environment with the user's own configuration.

    Raises:
        UnreachableError: it can't be started, or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="sparkproof-") as scratch:
        places = {"log": f"{scratch}/log", "report": f"{scratch}/report", "folder": f"{scratch}/t"}
        command = own_python(["-c", _BOUNDED, *(_fill(a, places) for a in arguments)])
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program, arguments checked by callers
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=False,
                env=own_environment(more=_ENVIRONMENT),
            )
        except subprocess.TimeoutExpired as error:
            raise UnreachableError(
                f"pip gave no answer in {timeout_s:.0f} s", hint="is the package index reachable?"
            ) from error
        except OSError as error:
            raise UnreachableError(
                f"pip can't be started: {error.strerror}",
                hint="python -m ensurepip",
            ) from error
        return PipResult(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
            _text(Path(places["log"])),
            _text(Path(places["report"])),
        )


def resolve(requirement: str, target: Target, run: PipRunner = run_pip) -> Resolution:
    """Which file pip would install on the box for a requirement.

    Raises:
        UsageError: no requirement.
        UnreachableError: no such thing, or nobody to ask; the hint says the way out.
    """
    name, spec = requirement_parts(requirement)
    result = _dry_run(name + spec, target, run)
    if result.returncode != 0:
        raise explain_failure(name, spec, target, result)
    return _parse_report(result, name)


def resolve_filename(filename: str, target: Target, run: PipRunner = run_pip) -> Resolution:
    """The very file of that name on pip's indexes, whatever pip would choose.

    The index's hash is known only where pip chooses it too.

    Raises:
        UsageError: no wheel's file name.
        UnreachableError: no such file, or nobody to ask.
    """
    try:
        name, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise UsageError(
            f"`{filename}` is no file here and no wheel's full name", hint="e.g. vllm==0.33.0"
        ) from error
    result = _dry_run(f"{name}=={version}", target, run)
    if result.returncode != 0:
        raise explain_failure(name, f"=={version}", target, result)
    chosen = _parse_report(result, name)
    if chosen.filename == filename:
        return chosen
    for match in _FOUND.finditer(result.log):
        url = redact_url(match["url"])
        if url_filename(url) == filename:
            return Resolution(name=name, version=str(version), filename=filename, url=url)
    raise UnreachableError(
        f"pip's indexes have no {filename} for {target}", hint=f"there is {chosen.filename}"
    )


def download(url: str, sha256: str, target: Target, folder: Path, run: PipRunner = run_pip) -> Path:
    """Let pip fetch one file, where our own way is barred (secrets, certificates, proxies).

    Raises:
        UnreachableError: pip can't either.
    """
    address = f"{url}#sha256={sha256}" if sha256 else url
    arguments = ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--log", "{log}"]
    arguments += [*_target_arguments(target), "--dest", str(folder), "--", address]
    result = run(arguments, RESOLVE_TIMEOUT_S)
    files = sorted(folder.glob("*.whl"))
    if result.returncode != 0 or len(files) != 1:
        raise UnreachableError(
            f"{url.rsplit('/', 1)[-1]} can't be fetched: {last_error(result)}",
            hint="see `pip config list`: pip's own settings decide how the index is reached",
        )
    return files[0]


def _dry_run(requirement: str, target: Target, run: PipRunner) -> PipResult:
    arguments = ["install", "--dry-run", "--quiet", "--no-deps", "--only-binary", ":all:"]
    arguments += ["--ignore-installed", "--target", "{folder}", "--log", "{log}"]
    arguments += ["--report", "{report}", *_target_arguments(target)]
    result = run([*arguments, _FAST_DEPS, "--", requirement], _LOOK_TIMEOUT_S)
    if result.returncode == 2 and "fast-deps" in result.stderr:
        result = run([*arguments, "--", requirement], RESOLVE_TIMEOUT_S)
    return result


def _target_arguments(target: Target) -> list[str]:
    arguments = ["--python-version", target.check().python]
    for tag in target.platform_tags():
        arguments += ["--platform", tag]
    return arguments


class _ArchiveInfo(msgspec.Struct, frozen=True):
    hashes: dict[str, str] = {}


class _DownloadInfo(msgspec.Struct, frozen=True):
    url: str
    archive_info: _ArchiveInfo = _ArchiveInfo()


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    version: str


class _Item(msgspec.Struct, frozen=True):
    download_info: _DownloadInfo
    metadata: _Metadata


class _Report(msgspec.Struct, frozen=True):
    install: list[_Item]


def _parse_report(result: PipResult, name: str) -> Resolution:
    try:
        report = msgspec.json.decode(result.report.encode(), type=_Report)
    except msgspec.MsgspecError as error:
        raise UnreachableError(
            f"pip's report can't be read: {error}", hint="python -m pip install --upgrade pip"
        ) from error
    if len(report.install) != 1:
        raise UnreachableError(
            f"pip chose {len(report.install)} files for {name}, not one", hint="name a file"
        )
    item = report.install[0]
    url = redact_url(item.download_info.url)
    filename = url_filename(url)
    version = item.metadata.version
    found = (redact_url(m["url"]) for m in _FOUND.finditer(result.log) if m["version"] == version)
    others = {url_filename(other) for other in found} - {filename}
    return Resolution(
        name=item.metadata.name,
        version=version,
        filename=filename,
        url=url,
        sha256=item.download_info.archive_info.hashes.get("sha256", "").lower(),
        others=tuple(sorted(others)),
    )


def url_filename(url: str) -> str:
    """Last part of an address, without query and percent signs."""
    return unquote(redact_url(url).rsplit("/", 1)[-1])


def _fill(argument: str, places: dict[str, str]) -> str:
    return places.get(argument[1:-1], argument) if argument.startswith("{") else argument


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""
