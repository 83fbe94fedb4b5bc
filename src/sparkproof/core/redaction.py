"""Secrets and home paths, taken out of anything that is written down.

Patterns are those of the tokens people really paste into recipes and environments; the
shape of the value is enough, the name of the variable is not needed, but helps.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

_MASK = "[redacted]"
_PATTERNS = (
    re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE),
    re.compile(r"\b(?:hf|gh[pousr]|sk|pk|glpat|xox[abprs]|nvapi)[-_][A-Za-z0-9_-]{16,}\b"),
    re.compile(r"(?P<keep>\bBearer\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\b"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(
        r"(?P<keep>(?:api[-_]?key|token|secret|passwd|password)[\"']?\s*[=:]\s*[\"']?)"
        r"[^\s\"'&,;}]{4,}",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<keep>--(?:api-key|hf-token|ssl-keyfile-password)[= ])\S+"),
)
_HOME = re.compile(r"(?:/home/|/Users/)[^/\s\"':]+|/root(?=[/\s\"':]|\Z)")
_SECRET_NAME = re.compile(r"(?:key|token|secret|password|passwd|credential|auth)\b", re.IGNORECASE)
_SECRET_FLAGS = frozenset({"--api-key", "--hf-token", "--ssl-keyfile-password"})

T = TypeVar("T")


def redact_text(text: str) -> str:
    """The text with secrets masked and home folders written as ``~``."""
    for pattern in _PATTERNS:
        text = pattern.sub(lambda m: (m.groupdict().get("keep") or "") + _MASK, text)
    return _HOME.sub("~", text)


def redact_environment(env: dict[str, str]) -> dict[str, str]:
    """As `redact_text`, and every value whose name says that it is a secret."""
    return {
        name: _MASK if _SECRET_NAME.search(name.replace("_", " ")) else redact_text(value)
        for name, value in env.items()
    }


def redact_arguments(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """As `redact_text`, and the values of flags that carry a secret."""
    result: list[str] = []
    secret = False
    for argument in arguments:
        result.append(_MASK if secret else redact_text(argument))
        secret = argument in _SECRET_FLAGS
    return tuple(result)


def redact(value: T) -> T:
    """A struct of the same type with every string in it redacted."""
    plain = _walk(msgspec.to_builtins(value))
    return msgspec.convert(plain, type(value))


def _walk(value: object) -> object:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {key: _walk(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item) for item in value]
    return value
