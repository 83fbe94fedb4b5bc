"""A launch script: one ``vllm serve``, bare or in one ``docker run``, with literal settings.

It is read and never run. Whatever could change the outcome and isn't understood (a branch, a
loop, a sourced file, a value that only running gives) is refused by its name and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError
from sparkproof.recipe.docker_run import is_container_run, parse_container_run
from sparkproof.recipe.mounts import host_path
from sparkproof.recipe.own_variables import SECRETS, own_variables
from sparkproof.recipe.serve_command import serve_words, shell_text, split_model
from sparkproof.recipe.shell_text import Command, ShellText, shown, unreadable

MAX_BYTES = 1 << 16
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)\Z", re.DOTALL | re.ASCII)
_BRANCHES = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "case", "esac", "select", "do"}
    | {"done", "function", "{", "}", "[[", "!"}
)
_CHANGES = frozenset({"eval", "read", "mapfile", "readarray", "getopts", "shift", "trap", "alias"})
_PREFIXES = frozenset(
    {"exec", "nohup", "sudo", "time", "command", "env", "uv", "run", "-E", "-n", "-H"}
)
_PROGRAM = re.compile(
    r"(?:\S*/)?(?:vllm|python[\d.]*)\Z|-[mu]+\Z|vllm\.entrypoints\.\S+\Z", re.ASCII
)
_SURE = frozenset(
    {"cd", "set", "mkdir", "ulimit", "echo", "sync", "sleep", "source", ".", "export"}
)
_MODEL = re.compile(r"[\w.-]+/[\w.-]+\Z", re.ASCII)
_READERS = frozenset({"sh", "bash", "ssh", "docker", "podman", "sudo", "kubectl"})
_DECLARES = frozenset({"export", "declare", "readonly", "local", "typeset"})


class Launch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The one command that starts a server.

    Attributes:
        environment: what is exported to it, or set in front of it.
        variables: all that the shell knows at that point.
    """

    words: tuple[str, ...]
    environment: dict[str, str]
    variables: dict[str, str]
    line: int


def parse_launch_script(data: bytes, where: str) -> Deployment:
    """Read a script.

    Raises:
        FormatError: no text, nothing or more than one thing is started in it, or a construct that
            is not read; the message names it and its line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("no text", where=where) from error
    launch = find_launch(text, {}, where)
    return launched(launch, where)


def launched(launch: Launch, where: str) -> Deployment:
    """The deployment that a launch starts."""
    words, environment, image, name = launch.words, launch.environment, "", ""
    mounts: dict[str, str] = {}
    if is_container_run(words):
        run = parse_container_run(words, launch.variables, where)
        words, environment, image, name = run.command, run.environment, run.image, run.name
        mounts = run.mounts
    text = shell_text(words)
    if text is not None:
        inner = find_launch(text, environment, where)
        words, environment = inner.words, inner.environment
    rest = serve_words(words)
    if rest is None:
        rest = _after_entrypoint(words, image, where)
    model, arguments = split_model(rest, where)
    variables = settled_variables(environment)
    hidden = unreadable((image, name, model, *arguments, *variables.values()))
    if hidden:
        raise FormatError(
            f"`{hidden}` is known only when the script runs",
            where=where,
            line=launch.line,
            hint="put the value in its place, or save `docker inspect NAME` of what it starts",
        )
    return Deployment(
        checkpoint=host_path(model, mounts),
        artifact=f"image:{image}" if image else "",
        name=name,
        args=arguments,
        env=variables,
    )


def settled_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """A deployment's variables, less the secrets that only running the script tells."""
    return {
        name: value
        for name, value in own_variables(environment).items()
        if name not in SECRETS or not unreadable((value,))
    }


def _after_entrypoint(words: tuple[str, ...], image: str, where: str) -> tuple[str, ...]:
    """What an image's own ``vllm serve`` gets, where the words can be nothing else."""
    if not unreadable((image,)) and words and (words[0].startswith("--") or _MODEL.match(words[0])):
        return words
    raise FormatError(
        f"what `{shown(image)}` runs is not in it",
        where=where,
        hint="save `docker inspect NAME` of the container that it starts",
    )


def find_launch(text: str, environment: Mapping[str, str], where: str) -> Launch:
    """The one command of a shell text that starts a server.

    Raises:
        FormatError: there is none, or several, or it cannot be read.
    """
    reader = ShellText(text, dict(environment), where)
    exported = dict(environment)
    found: list[Launch] = []
    before = ""
    for command in reader.commands():
        _check(reader, command, before)
        words, local = _assign(reader, command, exported)
        before = command.words[0] if words else "export"
        if words and _starts(words):
            _check_program(reader, words, command.line)
            variables = {**reader.variables, **local}
            found.append(Launch(words, {**exported, **local}, variables, command.line))
    if len(found) == 1:
        return found[0]
    several = f"{len(found)} commands in it start a server" if found else ""
    raise FormatError(
        several or "no command in it is a `vllm serve` or a `docker run` of one",
        where=where,
        line=found[1].line if found else 0,
        hint="name a deployment TOML, or give vLLM's words after `--`",
    )


def _check(reader: ShellText, command: Command, before: str) -> None:
    first = command.words[0]
    if first in _BRANCHES or first in _CHANGES:
        raise reader.error(f"`{first}` is not read: what runs depends on it", command.line)
    if first in ("source", ".") and not command.words[-1].endswith("/activate"):
        raise reader.error(
            f"`{' '.join(command.words[:2])}` is not read: it may set anything", command.line
        )
    program = first.rpartition("/")[2]
    if command.fed and program in _READERS:
        raise reader.error(f"the here-document that `{program}` gets is not read", command.line)
    if program == "set" and ("-a" in command.words or "allexport" in command.words):
        raise reader.error("`set -a` is not read: export what matters by name", command.line)
    sets = _ASSIGNMENT.match(first) or first in _DECLARES or _starts(command.words)
    unsure = command.after == "||" or (command.after == "&&" and before not in _SURE)
    if sets and unsure and not (command.after == "&&" and _starts(command.words)):
        raise reader.error(
            f"whether `{shown(first)}` runs is decided by another command", command.line
        )


def _check_program(reader: ShellText, words: tuple[str, ...], line: int) -> None:
    """Refuse what starts the server in a way that may add to its settings."""
    if is_container_run(words):
        return
    for word in words:
        if word == "serve" or word.endswith("api_server.py"):
            return
        if not _PROGRAM.match(word):
            raise reader.error(f"`{shown(word)}` starts the server in a way that is not read", line)
        if word == "vllm.entrypoints.openai.api_server":
            return


def _assign(
    reader: ShellText, command: Command, exported: dict[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Take in what a command sets; its other words, and what is set in front of them."""
    words = list(command.words)
    if words[0] == "unset":
        for name in words[1:]:
            reader.variables.pop(name, None)
            exported.pop(name, None)
    declared = words[0] in _DECLARES
    if declared:
        del words[0]
    local: dict[str, str] = {}
    while words and (match := _ASSIGNMENT.match(words[0])):
        old = reader.variables.get(match[1], "") if match[2] else ""
        local[match[1]] = old + match[3]
        del words[0]
    if declared:
        reader.variables.update(local)
        named = {w: reader.variables[w] for w in words if w in reader.variables}
        if command.words[0] == "export":
            exported.update({**named, **local})
        return (), {}
    if words:
        return _unprefixed(words, local), local
    reader.variables.update(local)
    exported.update({k: v for k, v in local.items() if k in exported})
    return (), {}


def _unprefixed(words: list[str], local: dict[str, str]) -> tuple[str, ...]:
    """Without `exec`, `env A=b`, `uv run` and the like in front."""
    rest = list(words)
    while rest and rest[0] in _PREFIXES:
        del rest[0]
        while rest and (match := _ASSIGNMENT.match(rest[0])):
            local[match[1]] = match[3]
            del rest[0]
    return tuple(rest)


def _starts(words: tuple[str, ...]) -> bool:
    """Whether a command starts a server: by itself, in a container, or through a shell's text."""
    if words[0].rpartition("/")[2] in ("echo", "printf", "pkill", "pgrep", "grep"):
        return False
    return is_container_run(words) or serve_words(words) is not None
