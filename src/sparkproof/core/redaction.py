"""Secrets and home paths, taken out of anything that is written down.

Patterns are those of the tokens people really paste into recipes and environments; the
shape of the value is enough, the name of the variable is not needed, but helps.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from sparkproof.core.known_secrets import MASK, KnownSecrets
from sparkproof.core.text import encodable, map_text

_NAMES = r"(?:api[-_]?key|access[-_]?key|hf[-_]token|secret|passwd|password)"
_IS = r"\\{0,8}[\"']?\s{0,8}[=:]\s{0,8}"
_QUOTED_VALUE = r"\"(?:\\.|[^\"\\\n])+\"?|'(?:\\.|[^'\\\n])+'?"
_PATTERNS = (
    re.compile(
        # With a password that holds the signs of an address, too; a port is none.
        r"(?P<keep>\b[a-z][a-z0-9+.-]{0,30}://)(?:[^/\s@]+@(?:[^/\s@\"'<>,]{1,256}@)?"
        r"|[^/\s@:\"'<>,]{1,256}:(?!\d{1,5}/)[^\s@\"'<>,]{1,256}@)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:(?:hf|gh[pousr]|npm)_[A-Za-z0-9]{16,}"
        r"|(?:sk|pk|rk|glpat|xox[abeprs]|nvapi|pypi)-[A-Za-z0-9_-]{16,}"
        r"|(?:[spr]k_(?:live|test)|github_pat|dckr_pat)_[A-Za-z0-9_-]{16,}"
        r"|AIza[A-Za-z0-9_-]{30,}|A[KS]IA[0-9A-Z]{16}\b)"
    ),
    re.compile(r"(?P<keep>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    re.compile(
        r"(?P<keep>\bAuthorization[\"']?\s{0,8}[=:]\s{0,8}[\"']?(?:Bearer|Basic|Token|Api-?Key|Key"
        r"|Digest|Negotiate)\s{1,8})[^\s\"',;}]+",
        re.IGNORECASE,
    ),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,4096}+\.[A-Za-z0-9_-]{8,4096}+\.[A-Za-z0-9_-]{8,}"),
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
    ),
    re.compile(
        rf"(?P<keep>{_NAMES}{_IS})[\[(]\s{{0,8}}(?=[bru]{{0,2}}[\"'](?!<))"
        rf"(?:[bru]{{0,2}}(?:{_QUOTED_VALUE})|[\s,])+[\])]?",
        re.IGNORECASE,
    ),
    re.compile(rf"(?P<keep>{_NAMES}{_IS}[bru]{{0,2}})(?![\"']<)(?:{_QUOTED_VALUE})", re.IGNORECASE),
    re.compile(rf"(?P<keep>{_NAMES}{_IS}\\{{0,8}}[\"']?)(?!<)[^\s\"'&,;}}]{{4,}}", re.IGNORECASE),
    re.compile(
        # Not the tokens of a vocabulary, and not counts of tokens.
        r"(?P<keep>(?<!os_)(?<!pad_)(?<!unk_)token[\"']?\s*[=:]\s*[\"']?)(?!\d{1,9}\b|<)"
        r"[^\s\"'&,;}]{4,}",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<keep>[?&](?:X-Amz-Signature|signature|sig)=)[^\s&\"']+", re.IGNORECASE),
    re.compile(
        r"(?P<keep>--(?:api[-_]key|hf[-_]token)(?:=|[ \t]{1,8}(?:\\\n[ \t]{0,8})?"
        rf"|[\"']\s{{0,8}},\s{{0,8}})[bru]{{0,2}})(?:{_QUOTED_VALUE}|(?!--)[^\s\"']\S*)"
    ),
)
_HOME = re.compile(
    r"(?<![\w.-])(?:/home/[^/\s\"':,;)\]]+|/Users/[^/\s\"':,;)\]]+|/root(?![\w.-])"
    r"|[A-Za-z]:\\Users\\[^\\\s\"':,;)\]]+)"
)
_HOME_ELSEWHERE = re.compile(r"(?P<keep>/(?:home|Users)/)[^/\s\"':,;)\]]+")
_ADDRESS = re.compile(r"\b(?!127\.|0\.0\.0\.0\b)\d{1,3}(?:\.\d{1,3}){3}\b(?!\.\d)")
_ADDRESS_6 = re.compile(
    r"(?<![\w:.])(?=[0-9a-f:]*\d)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:%\w{1,16})?(?![\w:])",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|credentials?|auth)(?![a-z])", re.IGNORECASE
)
_SECRET_FLAGS = frozenset({"--api-key", "--hf-token"})
_SECRET_ARGUMENT = re.compile(
    r"(?:.*[-_ .])?(?:api[-_ ]?key|access[-_ ]key|hf[-_ ]token|auth[-_ ]token|secret|password"
    r"|passwd)\Z",
    re.IGNORECASE,
)
_NAMING = ("name", "what", "flag", "subject")
_NAMED = ("value", "predicted", "observed", "seen")
"""Fields of our structs that name an argument, and those that hold its value."""
_NO_SECRET = frozenset({"", "none", "true", "false", "yes", "no", MASK})
_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
_TELLING_CHARS = 8
"""A secret shorter than this is masked where its name stands, and not wherever it occurs."""

T = TypeVar("T")


def redact_text(text: str) -> str:
    """The text with secrets masked, home folders written as ``~``, and fit for UTF-8."""
    for pattern in _PATTERNS:
        text = pattern.sub(_masked, text)
    return encodable(_HOME_ELSEWHERE.sub(_masked, _HOME.sub("~", text)))


def redact_addresses(text: str) -> str:
    """The text with IP addresses masked, loopback and wildcard aside."""
    return _ADDRESS_6.sub(_masked_address, _ADDRESS.sub("[address]", text))


def _masked_address(match: re.Match[str]) -> str:
    try:
        found = ipaddress.IPv6Address(match[0])
    except ValueError:
        return match[0]
    return match[0] if found.is_loopback or found.is_unspecified else "[address]"


def _masked(match: re.Match[str]) -> str:
    return (match.groupdict().get("keep") or "") + MASK


def is_secret_argument(name: str) -> bool:
    """Whether an argument of this name (``api_key``, ``--hf-token``) holds a secret."""
    return _SECRET_ARGUMENT.match(name) is not None


def mask_named(name: str, value: str) -> str:
    """The value as it may be shown under an argument's name; only secrets are masked."""
    shown = not is_secret_argument(name) or value.lower() in _NO_SECRET
    return value if shown else MASK


def redact_environment(env: dict[str, str]) -> dict[str, str]:
    """As `redact_text`, and every value whose name says that it is a secret."""
    return {
        name: MASK if _SECRET_NAME.search(name) else redact_text(value)
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
            result.append(MASK if secret else redact_text(argument))
    return tuple(result)


def redact(value: T, *, homes: Iterable[str] = ()) -> T:
    """A struct of the same type with every string in it redacted, keys too.

    Lists of strings are taken for arguments, dicts whose keys are written as environment
    variables for environments, and a field beside a secret's name for its value. What is found
    so is masked wherever else it occurs.

    Args:
        value: a struct.
        homes: further folders to write as ``~``, for homes that lie in an unusual place.
    """
    plain = msgspec.to_builtins(value)
    if secrets := set(_secrets(plain)):
        plain = map_text(plain, KnownSecrets(secrets).masked)
    plain = _walk(plain)
    folders = sorted({home.rstrip("/") for home in homes} - {""}, key=len, reverse=True)
    if folders:
        unusual = re.compile("(?:" + "|".join(map(re.escape, folders)) + r")(?![\w.-])")
        plain = map_text(plain, lambda text: unusual.sub("~", text))
    return msgspec.convert(plain, type(value))


def _secrets(value: object) -> list[str]:
    """Secrets that are known by the name they stand under, if they can't be a common word."""
    found: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and _holds_secret(key, value):
                found += _QUOTED.findall(item) or item.split()
            elif key == "command" and isinstance(item, str):
                found += _secret_words(_words(item))
            else:
                found += _secrets(item)
    elif isinstance(value, list | tuple):
        texts = [item for item in value if isinstance(item, str)]
        found += _secret_words(texts)
        for item in value:
            found += _secrets(item)
    return [text for text in found if _tells(text)]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # cut within quotes
        return command.split()


def _secret_words(words: Iterable[str]) -> list[str]:
    found = []
    secret = False
    for word in words:
        flag, _, joined = word.partition("=")
        if word.startswith("--"):
            secret = flag.replace("_", "-") in _SECRET_FLAGS
        if secret:
            found.append(joined if word.startswith("--") else word)
    return found


def _tells(text: str) -> bool:
    return len(text) >= _TELLING_CHARS and (not text.isalpha() or len(text) >= 2 * _TELLING_CHARS)


def _holds_secret(key: str, around: dict[str, object]) -> bool:
    """Whether the text under this key is a secret, by the key or by a name beside it."""
    if (key.isupper() and _SECRET_NAME.search(key)) or is_secret_argument(key):
        return True
    names = (around.get(name) for name in _NAMING) if key in _NAMED else ()
    return any(isinstance(name, str) and is_secret_argument(name) for name in names)


def _walk(value: object) -> object:
    if isinstance(value, dict):
        return {redact_text(key): _entry(key, item, value) for key, item in value.items()}
    if isinstance(value, list | tuple):
        texts = tuple(item for item in value if isinstance(item, str))
        if len(texts) == len(value):
            return list(redact_arguments(texts))
        return [_walk(item) for item in value]
    return map_text(value, redact_text)


def _entry(key: str, item: object, around: dict[str, object]) -> object:
    if not isinstance(item, str) or not _holds_secret(key, around):
        return _walk(item)
    return item if item.lower() in _NO_SECRET else MASK
