"""vLLM's own arguments, as far as kernel selection depends on them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkproof.core.condition import Scalar
from sparkproof.core.errors import UsageError
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.serve_line import Given, ServeLine
from sparkproof.facts.serve_flags import FlagKind, ServeConfig, ServeFlag, serve_flags

_SPECULATIVE = "--speculative-config"
_JSON_HINT = 'quote the whole object for the shell, e.g. \'{"method": "mtp"}\''


def parse_selection_args(arguments: Sequence[str], line: ServeLine | None = None) -> SelectionArgs:
    """Read what follows ``vllm serve MODEL``; flags without a bearing on selection are skipped.

    Args:
        line: the same as the release's own parser takes it, where that is at hand; what the
            parser refuses stays as it was written.

    Raises:
        UsageError: a flag without its value, or a value that is no JSON where JSON is due.
    """
    found: dict[str, Any] = {}
    for name, tail, value in _pairs(arguments):
        flag, config = serve_flags().flag(name), serve_flags().config(name)
        if config is not None and tail:
            _take_keys(found, config, {tail: _wanted(f"{name}.{tail}", value)})
        elif config is not None:
            _take_keys(found, config, _json(name, value))
        elif flag is not None:
            _take(found, flag, name, value)
    for given in line.given if line is not None else ():
        _take_given(found, given)
    return SelectionArgs(**found)


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str, str | None]]:
    """Flags in their long spelling, a dotted key, and the word that follows, if it is no flag."""
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            continue
        name, equals, value = word.partition("=")
        head, _, tail = name.partition(".")
        if head.startswith("--"):
            head = head.replace("_", "-")
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        if not equals:
            value_or_none = None if following is None or _is_flag(following) else following
        else:
            value_or_none = value
        yield head, tail.replace("-", "_"), value_or_none


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit()


def _take(found: dict[str, Any], flag: ServeFlag, name: str, value: str | None) -> None:
    if flag.config:
        config = serve_flags().config(flag.config)
        assert config is not None
        _take_keys(found, config, {flag.key: _wanted(name, value)})
    elif not flag.selection:
        return
    elif flag.kind is FlagKind.SWITCH:
        found[flag.selection] = name not in flag.off
    elif flag.kind is FlagKind.COUNT:
        found[flag.selection] = _integer(name, value)
    else:
        found[flag.selection] = _wanted(name, value)


def _take_keys(found: dict[str, Any], config: ServeConfig, keys: Mapping[str, Any]) -> None:
    """What an object says, key by key; nulls are as good as absent."""
    if config.flag == _SPECULATIVE:
        found["speculative"] = True
    for key, value in keys.items():
        field = config.selection.get(key)
        if value is None:
            continue
        if field is not None and isinstance(value, Mapping):
            found[field] = {str(k): str(v) for k, v in value.items()}
        elif field is not None and isinstance(value, str | int | float):
            found[field] = str(value)
        elif field is None and config.settings and isinstance(value, str | int | float):
            settings: dict[str, Scalar] = found.setdefault("settings", {})
            settings[f"{config.settings}.{key}"] = _plain(value)


def _plain(value: Scalar) -> Scalar:
    """A word of a dotted key as JSON, where it is some."""
    if not isinstance(value, str):
        return value
    try:
        decoded = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return decoded if isinstance(decoded, str | int | float | None) else value


def _take_given(found: dict[str, Any], given: Given) -> None:
    """One option as the release's parser read it."""
    config, flag = serve_flags().config(given.flag), serve_flags().flag(given.flag)
    if config is not None and isinstance(given.value, dict):
        _take_keys(found, config, given.value)
    elif flag is not None and flag.config and given.value is not None:
        config = serve_flags().config(flag.config)
        assert config is not None
        _take_keys(found, config, {flag.key: given.value})
    elif flag is not None and flag.selection:
        if given.value is None:
            found.pop(flag.selection, None)
        else:
            nested = isinstance(given.value, dict)
            found[flag.selection] = json.dumps(given.value) if nested else given.value


def _wanted(flag: str, value: str | None) -> str:
    if not value:
        raise UsageError(f"`{flag}` needs a value", hint=f"write `{flag} VALUE`, or leave it out")
    return value.strip()


def _integer(flag: str, value: str | None) -> int:
    text = _wanted(flag, value)
    if not text.isdecimal() or not 1 <= int(text) <= 1 << 16:
        raise UsageError(f"`{flag} {text}` is no number of GPUs", hint="give a whole number")
    return int(text)


def _json(flag: str, value: str | None) -> dict[str, Any]:
    try:
        decoded = json.loads(_wanted(flag, value))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"`{flag}` is no JSON: {value}", hint=_JSON_HINT) from error
    if not isinstance(decoded, dict):
        raise UsageError(f"`{flag}` is no JSON object: {value}", hint=_JSON_HINT)
    return decoded
