"""``docker run`` or ``podman run``, word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.recipe.mounts import mount_of
from sparkproof.recipe.own_variables import SECRETS, own_variables

_ENGINES = ("docker", "podman", "nerdctl")
_HINT = "mend the command, or save `docker inspect NAME` of what it starts"
_SWITCHES = frozenset(
    {"--rm", "--detach", "--interactive", "--tty", "--privileged", "--init", "--read-only"}
    | {"--no-healthcheck", "--oom-kill-disable", "--publish-all", "--quiet", "--sig-proxy"}
)
_SHORT_SWITCHES = frozenset("ditPq")
_SHORT_VALUES = frozenset("veplhuwmca")


class ContainerRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is started.

    Attributes:
        command: with the entrypoint in front, where the line sets one.
        mounts: the container's folders to those of the host.
    """

    image: str
    command: tuple[str, ...]
    environment: dict[str, str]
    name: str = ""
    mounts: dict[str, str] = {}


def is_container_run(words: Sequence[str]) -> bool:
    """Whether the words run a container."""
    return len(words) > 2 and words[0].rpartition("/")[2] in _ENGINES and words[1] == "run"


def parse_container_run(
    words: Sequence[str], variables: Mapping[str, str], where: str
) -> ContainerRun:
    """Read what follows ``docker run``.

    Raises:
        FormatError: no image in it, or settings that stand in another file.
    """
    pairs, rest = _options(list(words[2:]), where)
    if not rest:
        raise FormatError("`docker run` without an image", where=where, hint=_HINT)
    environment: dict[str, str] = {}
    entrypoint: tuple[str, ...] = ()
    name = ""
    mounts: dict[str, str] = {}
    for option, value in pairs:
        if option == "--env-file":
            raise FormatError(
                f"`--env-file {value}` is not read: it may set anything",
                where=where,
                hint="write its lines as `-e NAME=VALUE`",
            )
        if option in ("-e", "--env"):
            environment.update(_variable(value, variables, where))
        elif option == "--entrypoint":
            entrypoint = (value,) if value else ()
        elif option == "--name":
            name = value
        elif option in ("-v", "--volume", "--mount"):
            mounts.update(mount_of(option, value))
    return ContainerRun(rest[0], (*entrypoint, *rest[1:]), environment, name, mounts)


def _options(words: list[str], where: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Options with their values ("" for switches), and what follows them."""
    pairs: list[tuple[str, str]] = []
    while words and words[0].startswith("-"):
        word = words.pop(0)
        option, equals, value = word.partition("=")
        if word == "--":
            break
        if option.startswith("--"):
            takes = not equals and option not in _SWITCHES
        else:
            option, value, takes = _short(word, where)
        if takes:
            if not words:
                raise FormatError(f"`{option}` needs a value", where=where, hint=_HINT)
            value = words.pop(0)
        pairs.append((option, value))
    return pairs, words


def _short(option: str, where: str) -> tuple[str, str, bool]:
    """A cluster such as ``-dit`` or ``-eNAME=1``: its last option, its value, if one follows."""
    for position, letter in enumerate(option[1:], 1):
        if letter in _SHORT_SWITCHES:
            continue
        if letter not in _SHORT_VALUES:
            raise FormatError(f"`{option}` of `docker run` is not known", where=where, hint=_HINT)
        value = option[position + 1 :].removeprefix("=")
        return f"-{letter}", value, not value
    return option, "", False


def _variable(value: str, variables: Mapping[str, str], where: str) -> dict[str, str]:
    name, equals, text = value.partition("=")
    if equals:
        return {name: text}
    if name in variables:
        return {name: variables[name]}
    if name in SECRETS or not own_variables({name: ""}):
        return {}
    raise FormatError(
        f"`-e {name}` takes its value from the shell, and nothing in the script sets it",
        where=where,
        hint=f"write `-e {name}=VALUE`",
    )
