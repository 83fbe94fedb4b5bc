"""vLLM's own arguments, as far as kernel selection depends on them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sparkproof.core.errors import UsageError
from sparkproof.core.selection_args import SelectionArgs

_VALUED = {
    "--moe-backend": "moe_backend",
    "--linear-backend": "linear_backend",
    "--attention-backend": "attention_backend",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--quantization": "quantization",
    "-q": "quantization",
}
_INTEGERS = {"--tensor-parallel-size": "tensor_parallel", "-tp": "tensor_parallel"}
_FLAGS = {
    "--enable-expert-parallel": "expert_parallel",
    "-ep": "expert_parallel",
    "--enable-lora": "lora",
    "--language-model-only": "text_only",
}
_SPECULATIVE = "--speculative-config"
_SPECULATIVE_FLAGS = ("--spec-method", "--spec-model", "--spec-tokens", "-sc")
_JSON_HINT = 'quote the whole object for the shell, e.g. \'{"method": "mtp"}\''
_SHORT = {"--spec-method": "method", "--spec-model": "model"}
_DRAFT = {
    "method": "speculative_method",
    "model": "draft_model",
    "moe_backend": "draft_moe_backend",
    "attention_backend": "draft_attention_backend",
    "kv_cache_dtype": "draft_kv_cache_dtype",
}
"""Keys of the speculative config that decide about the drafter's kernels."""
_NESTED = {
    ("--kernel-config", "moe_backend"): "moe_backend",
    ("--kernel-config", "linear_backend"): "linear_backend",
    ("--attention-config", "backend"): "attention_backend",
}


def parse_selection_args(arguments: Sequence[str]) -> SelectionArgs:
    """Read what follows ``vllm serve MODEL``; flags without a bearing on selection are skipped.

    Raises:
        UsageError: a flag without its value, or a value that is no JSON where JSON is due.
    """
    found: dict[str, Any] = {}
    given: list[str] = []
    for flag, value in _pairs(arguments):
        head, _, tail = flag.partition(".")
        if flag in _FLAGS:
            found[_FLAGS[flag]] = True
        elif flag in _INTEGERS:
            found[_INTEGERS[flag]] = _integer(flag, value)
        elif flag in _VALUED:
            found[_VALUED[flag]] = _wanted(flag, value)
            given.append(flag)
        elif head == _SPECULATIVE or flag in _SPECULATIVE_FLAGS:
            found["speculative"] = True
            _read_speculative(found, flag, tail, value)
        elif (head, tail) in _NESTED:
            found[_NESTED[head, tail]] = _wanted(flag, value)
        elif any(head == owner for owner, _ in _NESTED):
            _read_nested(found, flag, value)
    return SelectionArgs(**found, given=tuple(dict.fromkeys(given)))


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Flags in their long spelling with the word that follows them, if it is no flag."""
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            continue
        name, equals, value = word.partition("=")
        head, dot, tail = name.partition(".")
        if head.startswith("--"):
            head = head.replace("_", "-")
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        if not equals:
            value_or_none = None if following is None or _is_flag(following) else following
        else:
            value_or_none = value
        yield head + dot + tail.replace("-", "_"), value_or_none


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit()


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


def _read_speculative(found: dict[str, Any], flag: str, tail: str, value: str | None) -> None:
    if flag in (_SPECULATIVE, "-sc"):
        for key, given in _json(flag, value).items():
            if key in _DRAFT and given is not None:
                found[_DRAFT[key]] = str(given)
        return
    key = tail or _SHORT.get(flag, "")
    if key in _DRAFT:
        found[_DRAFT[key]] = _wanted(flag, value)


def _read_nested(found: dict[str, Any], flag: str, value: str | None) -> None:
    config = _json(flag, value)
    for (owner, key), name in _NESTED.items():
        if owner == flag and isinstance(config.get(key), str):
            found[name] = config[key]
    per_quant = config.get("linear_backend_per_quant")
    if isinstance(per_quant, dict):
        found["linear_backend_per_quant"] = {str(k): str(v) for k, v in per_quant.items()}
