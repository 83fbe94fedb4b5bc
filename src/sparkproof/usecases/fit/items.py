"""Images and the like of one plan: its config and its flags, put to the release's check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparkproof.core.finding import Finding
from sparkproof.core.serve_line import ServeLine
from sparkproof.core.unknown import Unknown
from sparkproof.memory.item_budget import ItemArgs, ItemCase, judge_items
from sparkproof.usecases.fit.case import CPU, FitCase

_LIMIT, _TEXT_ONLY = "--limit-mm-per-prompt", "--language-model-only"
_EMBEDS, _WHOLE, _SETTINGS = (
    "--enable-mm-embeds",
    "--disable-chunked-mm-input",
    "--mm-processor-kwargs",
)
_FLAGS = (_LIMIT, _TEXT_ONLY, _EMBEDS, _WHOLE, _SETTINGS)
_MODALITIES = ("image", "video", "audio")


def find_large_items(
    case: FitCase, batched_tokens: int
) -> tuple[tuple[Finding, ...], tuple[Unknown, ...]]:
    """What `judge_items` says of a plan."""
    config = json.loads(case.files.config)
    forced = case.device.capability != CPU
    args = read_item_args(case.line, case.request.argv, forced=forced)
    versions = tuple(rules.version for rules in case.choice.rules)
    return judge_items(ItemCase(config, args, batched_tokens, versions))


def read_item_args(line: ServeLine | None, argv: Sequence[str], *, forced: bool) -> ItemArgs:
    """What the flags say, by the release's own parser where there is one."""
    if line is None:
        words = [word.partition("=")[0].replace("_", "-") for word in argv]
        return ItemArgs(forced=forced, unread=any(word.startswith(_FLAGS) for word in words))
    given = _mapping(line.get(_LIMIT))
    limits = {name: count for name in given if (count := _count(given[name])) is not None}
    if line.get(_TEXT_ONLY) is True:
        limits = dict.fromkeys(_MODALITIES, 0)
    elif line.get(_EMBEDS) is True:
        limits = {}
    frames = _mapping(given.get("video")).get("num_frames")
    return ItemArgs(
        whole=line.get(_WHOLE) is True,
        forced=forced,
        limits=limits,
        frames=frames if isinstance(frames, int) and frames > 0 else 0,
        settings=dict(_mapping(line.get(_SETTINGS))),
    )


def _count(limit: Any) -> int | None:
    """``4`` or ``{"count": 4, …}``; None for no limit."""
    found = _mapping(limit).get("count") if isinstance(limit, Mapping) else limit
    return found if isinstance(found, int) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
