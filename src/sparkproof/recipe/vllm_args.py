"""vLLM's own arguments, as far as memory depends on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from sparkproof.core.errors import RefusedFlagError, UsageError
from sparkproof.core.serve_args import ServeArgs, Speculation
from sparkproof.core.serve_line import Given, ServeLine
from sparkproof.facts.serve_flags import FlagKind, ServeFlag, serve_flags

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)\Z")
_FACTOR = {
    "": 1,
    "k": 1000,
    "m": 1000**2,
    "g": 1000**3,
    "t": 1000**4,
    "K": 1024,
    "M": 1024**2,
    "G": 1024**3,
    "T": 1024**4,
}
_SPECULATIVE = "--speculative-config"
_JSON_HINT = 'e.g. \'{"method": "mtp", "num_speculative_tokens": 3}\''
_IN_OBJECTS = frozenset({"attention_backend", "moe_backend"})
"""Fields that a key of another object may fill too."""
_MAX_INT = 1 << 50


def parse_serve_args(argv: Sequence[str]) -> ServeArgs:
    """Read what follows ``vllm serve MODEL``; flags without a bearing on memory are skipped.

    Raises:
        UsageError: a value that vLLM would refuse; the message names the flag.
    """
    found: dict[str, Any] = {}
    speculation: dict[str, Any] = {}
    tokens = list(argv)
    index = 0
    while index < len(tokens):
        flag, key, value, index = _next(tokens, index)
        known = serve_flags().flag(flag)
        if flag == _SPECULATIVE and key:
            speculation[key.replace("-", "_")] = _plain(value)
        elif flag == _SPECULATIVE:
            speculation.update(_json_object(flag, value))
        elif known is None:
            continue
        elif known.config == _SPECULATIVE:
            speculation[known.key] = _plain(value)
        elif known.memory and known.kind is FlagKind.SWITCH:
            found[known.memory] = flag not in known.off
        elif known.memory and known.kind is FlagKind.LIST:
            more, index = _more(tokens, index)
            found[known.memory] = tuple(([value] if value else []) + more)
        elif known.memory:
            found[known.memory] = _CONVERT[known.kind](known.flag, value)
    if speculation:
        found["speculation"] = _speculation(speculation)
    return ServeArgs(**found)


def take_serve_args(line: ServeLine) -> ServeArgs:
    """What a release's own parser read, as far as memory is concerned.

    Raises:
        UsageError: a value that vLLM would refuse once it is parsed; the message names the flag.
    """
    found: dict[str, Any] = {}
    speculation: dict[str, Any] = {}
    for given in line.given:
        known, config = serve_flags().flag(given.flag), serve_flags().config(given.flag)
        if given.value is None:
            continue
        if config is not None and isinstance(given.value, dict):
            if config.flag == _SPECULATIVE:
                speculation.update(given.value)
            for key in config.selection.keys() & given.value.keys():
                if config.flag != _SPECULATIVE and config.selection[key] in _IN_OBJECTS:
                    found[config.selection[key]] = str(given.value[key]).lower()
        elif known is not None and known.config == _SPECULATIVE:
            speculation[known.key] = given.value
        elif known is not None and known.memory:
            found[known.memory] = _taken(known, given)
    if speculation:
        found["speculation"] = _speculation(speculation)
    return ServeArgs(**found)


def _taken(flag: ServeFlag, given: Given) -> Any:
    if flag.kind is FlagKind.SWITCH:
        return bool(given.value) is (given.flag not in flag.off)
    if flag.kind is FlagKind.LIST:
        items = given.value if isinstance(given.value, list) else [given.value]
        return tuple(map(str, items))
    return _CONVERT[flag.kind](given.flag, str(given.value))


def _next(tokens: list[str], index: int) -> tuple[str, str, str, int]:
    """The flag at `index`, its dotted key, its value ("" for none), and where to go on."""
    name, equals, value = tokens[index].partition("=")
    flag, _, key = name.partition(".")
    flag = flag.replace("_", "-") if flag.startswith("--") else flag
    config, known = serve_flags().config(flag), serve_flags().flag(flag)
    flag = config.flag if config is not None else flag
    index += 1
    if equals or not flag.startswith("-"):
        return flag, key, value, index
    listed = known is not None and known.kind is FlagKind.LIST
    takes = known is not None and known.kind is not FlagKind.SWITCH
    if not takes and flag != _SPECULATIVE:
        return flag, key, "", index
    if index < len(tokens) and (not tokens[index].startswith("--") or listed):
        if listed and tokens[index].startswith("-"):
            return flag, key, "", index
        return flag, key, tokens[index], index + 1
    raise UsageError(f"`{flag}` needs a value", hint=f"`sparkproof explain {flag}` says which")


def _more(tokens: list[str], index: int) -> tuple[list[str], int]:
    start = index
    while index < len(tokens) and not tokens[index].startswith("-"):
        index += 1
    return tokens[start:index], index


def _size(flag: str, value: str) -> int:
    """A number as vLLM writes sizes: ``1k`` is 1000, ``1K`` is 1024."""
    match = _SIZE.match(value.strip())
    if not match:
        raise UsageError(f"`{flag} {value}` is no number", hint="e.g. 262144, 128k or 36G")
    number = float(match[1]) * _FACTOR[match[2]]
    if number > _MAX_INT:
        raise UsageError(f"`{flag} {value[:80]}` is absurd", hint="e.g. 262144 or 256k")
    return int(number)


def plain_size(flag: str, value: str) -> str:
    """A size as the number that vLLM logs: ``32k`` is 32000; any other value as it is."""
    known = serve_flags().flag(flag.replace("_", "-"))
    sizes = (FlagKind.COUNT, FlagKind.SIZE, FlagKind.LENGTH)
    sized = known is not None and known.kind in sizes and _SIZE.match(value)
    return str(_size(flag, value)) if sized and not value.isdecimal() else value


def _count(flag: str, value: str) -> int:
    number = _size(flag, value)
    if number < 1:
        raise RefusedFlagError(
            f"`{flag} {value}` must be 1 or more", hint="leave it out for the default"
        )
    return number


def _length(flag: str, value: str) -> int:
    if value.strip().lower() in ("auto", "-1"):
        return -1
    return _count(flag, value)


def _share(flag: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number <= 1:
        raise RefusedFlagError(
            f"`{flag} {value}` is outside 0 to 1", hint="it is a share of the whole memory"
        )
    return number


def _word(_flag: str, value: str) -> str:
    return value.strip()


def _lower(_flag: str, value: str) -> str:
    return value.strip().lower()


def _plain(value: str) -> Any:
    return int(value) if value.isdigit() and len(value) < 12 else value


def _json_object(flag: str, value: str) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"`{flag}` is no JSON", hint=_JSON_HINT) from error
    if not isinstance(found, dict):
        raise UsageError(f"`{flag}` is no JSON object", hint=_JSON_HINT)
    return found


def _speculation(raw: dict[str, Any]) -> Speculation:
    tokens = raw.get("num_speculative_tokens", 0)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens <= 1024:
        raise UsageError(
            f"`num_speculative_tokens` of {str(tokens)[:80]!r} is no number of tokens",
            hint="give a whole number from 1, e.g. 3",
        )
    if not tokens:
        raise UsageError(
            "`--speculative-config` does not say num_speculative_tokens",
            hint="the states and blocks of a request depend on it",
        )
    texts = {key: raw.get(key) or "" for key in ("method", "model", "kv_cache_dtype")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(f"`{key}` in `--speculative-config` is no text", hint=_JSON_HINT)
    method = texts["method"].lower()
    if method.endswith("_mtp") or (not method and not texts["model"]):
        method = "mtp"
    return Speculation(tokens, method, texts["model"], texts["kv_cache_dtype"])


_CONVERT: dict[FlagKind, Callable[[str, str], Any]] = {
    FlagKind.WORD: _word,
    FlagKind.LOWER: _lower,
    FlagKind.COUNT: _count,
    FlagKind.SIZE: _size,
    FlagKind.LENGTH: _length,
    FlagKind.SHARE: _share,
}
