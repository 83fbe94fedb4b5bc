"""Secrets and home paths, taken out of anything that is written down.

Patterns are those of the tokens people really paste into recipes and environments; the
shape of the value is enough, the name of the variable is not needed, but helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from sparkproof.core.text import encodable, map_text

_MASK = "[redacted]"
_PATTERNS = (
    re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]{0,30}://)[^/\s@]+@", re.IGNORECASE),
    re.compile(
        r"\b(?:(?:hf|gh[pousr]|npm)_[A-Za-z0-9]{16,}"
        r"|(?:sk|pk|rk|glpat|xox[abeprs]|nvapi|pypi)-[A-Za-z0-9_-]{16,}"
        r"|(?:[spr]k_(?:live|test)|github_pat|dckr_pat)_[A-Za-z0-9_-]{16,}"
        r"|AIza[A-Za-z0-9_-]{30,}|A[KS]IA[0-9A-Z]{16}\b)"
    ),
    re.compile(r"(?P<keep>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,4096}+\.[A-Za-z0-9_-]{8,4096}+\.[A-Za-z0-9_-]{8,}"),
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
    ),
    re.compile(
        # Not the tokens of a vocabulary, and not counts of tokens.
        r"(?P<keep>(?:api[-_]?key|access[-_]?key|(?<!os_)(?<!pad_)(?<!unk_)token|secret|passwd"
        r"|password)[\"']?\s*[=:]\s*[\"']?)(?!\d+\b|<)[^\s\"'&,;}]{4,}",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<keep>[?&](?:X-Amz-Signature|signature|sig)=)[^\s&\"']+", re.IGNORECASE),
    re.compile(r"(?P<keep>--(?:api[-_]key|hf[-_]token)[= ])\S+"),
)
_HOME = re.compile(
    r"(?<![\w.-])(?:/home/[^/\s\"':,;)\]]+|/Users/[^/\s\"':,;)\]]+|/root(?![\w.-])"
    r"|[A-Za-z]:\\Users\\[^\\\s\"':,;)\]]+)"
)
_HOME_ELSEWHERE = re.compile(r"(?P<keep>/(?:home|Users)/)[^/\s\"':,;)\]]+")
_ADDRESS = re.compile(r"\b(?!127\.|0\.0\.0\.0\b)\d{1,3}(?:\.\d{1,3}){3}\b(?!\.\d)")
_SECRET_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|credentials?|auth)(?![a-z])", re.IGNORECASE
)
_SECRET_FLAGS = frozenset({"--api-key", "--hf-token"})

T = TypeVar("T")


def redact_text(text: str) -> str:
    """The text with secrets masked, home folders written as ``~``, and fit for UTF-8."""
    for pattern in _PATTERNS:
        text = pattern.sub(_masked, text)
    return encodable(_HOME_ELSEWHERE.sub(_masked, _HOME.sub("~", text)))


def redact_addresses(text: str) -> str:
    """The text with IPv4 addresses masked, loopback and wildcard aside."""
    return _ADDRESS.sub("[address]", text)


def _masked(match: re.Match[str]) -> str:
    return (match.groupdict().get("keep") or "") + _MASK


def redact_environment(env: dict[str, str]) -> dict[str, str]:
    """As `redact_text`, and every value whose name says that it is a secret."""
    return {
        name: _MASK if _SECRET_NAME.search(name) else redact_text(value)
        for name, value in env.items()
    }


def redact_arguments(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """As `redact_text`, and the values (one or several) of flags that carry a secret."""
    result: list[str] = []
    secret = False
    for argument in arguments:
        if argument.startswith("--"):
            secret = argument.replace("_", "-") in _SECRET_FLAGS
            result.append(redact_text(argument))
        else:
            result.append(_MASK if secret else redact_text(argument))
    return tuple(result)


def redact(value: T, *, homes: Iterable[str] = ()) -> T:
    """A struct of the same type with every string in it redacted, keys too.

    Lists of strings are taken for arguments, and dicts whose keys are written as
    environment variables are for environments.

    Args:
        value: a struct.
        homes: further folders to write as ``~``, for homes that lie in an unusual place.
    """
    plain = _walk(msgspec.to_builtins(value))
    folders = sorted({home.rstrip("/") for home in homes} - {""}, key=len, reverse=True)
    if folders:
        unusual = re.compile("(?:" + "|".join(map(re.escape, folders)) + r")(?![\w.-])")
        plain = map_text(plain, lambda text: unusual.sub("~", text))
    return msgspec.convert(plain, type(value))


def _walk(value: object) -> object:
    if isinstance(value, dict):
        return {redact_text(key): _entry(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        texts = tuple(item for item in value if isinstance(item, str))
        if len(texts) == len(value):
            return list(redact_arguments(texts))
        return [_walk(item) for item in value]
    return map_text(value, redact_text)


def _entry(key: str, item: object) -> object:
    named = key.isupper() and _SECRET_NAME.search(key)
    return _MASK if named and isinstance(item, str) else _walk(item)
