"""vLLM's own arguments, as far as memory depends on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from sparkproof.core.errors import UsageError
from sparkproof.core.serve_args import ServeArgs, Speculation

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
_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-sc": "--speculative-config",
    "--device-memory-utilization": "--gpu-memory-utilization",
}
_SPECULATIVE = "--speculative-config"
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
        flag, value, index = _next(tokens, index)
        if flag == _SPECULATIVE:
            speculation.update(_json_object(flag, value))
        elif flag.startswith(_SPECULATIVE + "."):
            speculation[flag.removeprefix(_SPECULATIVE + ".").replace("-", "_")] = _plain(value)
        elif flag in _SPEC_FLAGS:
            speculation[_SPEC_FLAGS[flag]] = _plain(value)
        elif flag in _BOOLEAN:
            name, meaning = _BOOLEAN[flag]
            found[name] = meaning
        elif flag in _VALUED:
            name, convert = _VALUED[flag]
            found[name] = convert(flag, value)
        elif flag in _LISTED:
            more, index = _more(tokens, index)
            found[_LISTED[flag]] = tuple(([value] if value else []) + more)
    if speculation:
        found["speculation"] = _speculation(speculation)
    return ServeArgs(**found)


def _next(tokens: list[str], index: int) -> tuple[str, str, int]:
    """The flag at `index` in its long form, its value ("" for none), and where to go on."""
    name, equals, value = tokens[index].partition("=")
    head, dot, tail = name.partition(".")
    flag = _SHORT.get(head, head.replace("_", "-") if head.startswith("--") else head) + dot + tail
    index += 1
    if equals or not flag.startswith("-"):
        return flag, value, index
    takes = flag in _VALUED or flag in _LISTED or flag in _SPEC_FLAGS
    takes = takes or flag.split(".")[0] == _SPECULATIVE
    if not takes:
        return flag, "", index
    if index < len(tokens) and (not tokens[index].startswith("--") or flag in _LISTED):
        if flag in _LISTED and tokens[index].startswith("-"):
            return flag, "", index
        return flag, tokens[index], index + 1
    raise UsageError(f"`{flag}` needs a value")


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


def _count(flag: str, value: str) -> int:
    number = _size(flag, value)
    if number < 1:
        raise UsageError(f"`{flag} {value}` must be 1 or more")
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
        raise UsageError(
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
        raise UsageError(f"`{flag}` is no JSON", hint='e.g. \'{"method": "mtp"}\'') from error
    if not isinstance(found, dict):
        raise UsageError(f"`{flag}` is no JSON object")
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
            raise UsageError(f"`{key}` in `--speculative-config` is no text")
    method = texts["method"].lower()
    if method.endswith("_mtp") or (not method and not texts["model"]):
        method = "mtp"
    return Speculation(tokens, method, texts["model"], texts["kv_cache_dtype"])


_VALUED: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "--max-model-len": ("max_model_len", _length),
    "--gpu-memory-utilization": ("utilization", _share),
    "--kv-cache-memory-bytes": ("kv_bytes", _count),
    "--num-gpu-blocks-override": ("blocks_override", _count),
    "--kv-cache-dtype": ("kv_dtype", _lower),
    "--dtype": ("dtype", _lower),
    "--block-size": ("block_size", _count),
    "--mamba-cache-mode": ("state_mode", _lower),
    "--mamba-cache-dtype": ("state_dtype", _lower),
    "--mamba-ssm-cache-dtype": ("ssm_dtype", _lower),
    "--mamba-block-size": ("state_block_size", _count),
    "--max-num-batched-tokens": ("batched_tokens", _count),
    "--max-num-seqs": ("sequences", _count),
    "--tensor-parallel-size": ("tensor_parallel", _count),
    "--pipeline-parallel-size": ("pipeline_parallel", _count),
    "--decode-context-parallel-size": ("decode_context_parallel", _count),
    "--attention-backend": ("attention_backend", _word),
    "--moe-backend": ("moe_backend", _lower),
    "--load-format": ("load_format", _lower),
    "--performance-mode": ("performance_mode", _lower),
}
_BOOLEAN: dict[str, tuple[str, bool]] = {
    "--enable-prefix-caching": ("prefix_caching", True),
    "--no-enable-prefix-caching": ("prefix_caching", False),
    "--disable-prefix-caching": ("prefix_caching", False),
    "--enable-chunked-prefill": ("chunked_prefill", True),
    "--no-enable-chunked-prefill": ("chunked_prefill", False),
    "--disable-hybrid-kv-cache-manager": ("hybrid_manager", False),
    "--no-disable-hybrid-kv-cache-manager": ("hybrid_manager", True),
    "--async-scheduling": ("async_scheduling", True),
    "--no-async-scheduling": ("async_scheduling", False),
    "--enforce-eager": ("enforce_eager", True),
    "--no-enforce-eager": ("enforce_eager", False),
}
_LISTED = {"--kv-cache-dtype-skip-layers": "kv_skip_layers"}
_SPEC_FLAGS = {
    "--spec-tokens": "num_speculative_tokens",
    "--spec-method": "method",
    "--spec-model": "model",
}
