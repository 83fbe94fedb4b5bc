"""Images and the like that are taken in whole: whether the largest fits into a batch. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from packaging.version import Version

from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.unknown import Unknown
from sparkproof.facts.item_book import ItemSize, item_book

RULE = "memory/item-above-batch"
_CHECK = Evidence("v1/core/encoder_cache_manager.py", "compute_mm_encoder_budget")
ITEMS = "fit/items"
"""Topic of what can't be told of it."""


class ItemArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the flags say of images and the like.

    Attributes:
        whole: they are not to be cut, by flag.
        forced: the platform forces it for models that need it.
        limits: items of a prompt, by modality; one that is left out is not limited.
        frames: of a video, where the flags ask for so many; 0 for the model's own.
        settings: of the processor.
        unread: the flags are there, and no parser to read them.
    """

    whole: bool = False
    forced: bool = True
    limits: dict[str, int] = {}
    frames: int = 0
    settings: dict[str, Any] = {}
    unread: bool = False

    def takes(self, modality: str) -> bool:
        """Whether a prompt may bring such an item."""
        return self.limits.get(modality, 1) > 0


class ItemCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model under one set of flags.

    Attributes:
        versions: the release, or both neighbours of one that was not examined.
    """

    config: dict[str, Any]
    args: ItemArgs
    batched_tokens: int
    versions: tuple[str, ...]


def judge_items(case: ItemCase) -> tuple[tuple[Finding, ...], tuple[Unknown, ...]]:
    """Whether the largest item fits, and what can't be told of that."""
    if "vision_config" not in case.config and "audio_config" not in case.config:
        return (), ()
    in_whole = {case.args.whole or _forced(case, version) for version in case.versions}
    if in_whole == {False}:
        return (), ()
    sizes = [_sizes(case, version) for version in case.versions]
    above = [_largest_above(case, found) for found in sizes]
    if any(above) and (len(in_whole) > 1 or not all(above) or case.args.unread):
        return (), (_open(case, "the flags or the releases around this one leave it open"),)
    if above[0] is not None:
        return (_finding(case, above[0], sizes[0]),), ()
    untold = [name for found in sizes for name, tokens in found.items() if tokens is None]
    if not item_book().sizes_of(_architecture(case)):
        return (), (_open(case, "how many tokens the largest has was not read for this model"),)
    if untold:
        return (), (_open(case, f"the tokens of {untold[0]} are not in the config"),)
    return (), ()


def _forced(case: ItemCase, version: str) -> bool:
    kind = str(case.config.get("model_type", ""))
    return case.args.forced and any(
        kind in item.model_types
        and item.holds_in(version)
        and (not item.field or _at(case.config, item.field) == item.value)
        for item in item_book().whole
    )


def _sizes(case: ItemCase, version: str) -> dict[str, int | None]:
    """Tokens of the largest item of each modality that may come; None where they are not told."""
    return {
        item.modality: _tokens(item, case, version)
        for item in item_book().sizes_of(_architecture(case))
        if case.args.takes(item.modality)
        and (not item.only_with or case.config.get(item.only_with) is not None)
    }


def _tokens(item: ItemSize, case: ItemCase, version: str) -> int | None:
    if item.frames:
        stated = case.args.frames if _since(item.frames_stated_since, version) else 0
        return min(stated or item.frames, item.frames) * item.frame_tokens
    asked = case.args.settings.get(item.setting)
    settable = _since(item.setting_since, version)
    if settable and isinstance(asked, int) and asked in item.setting_values:
        return asked
    found = _at(case.config, item.field) if item.field else None
    return found if isinstance(found, int) and found > 0 else item.default or None


def _since(first: str, version: str) -> bool:
    return bool(first) and Version(first) <= Version(version)


def _largest_above(case: ItemCase, sizes: Mapping[str, int | None]) -> str | None:
    """The modality of the largest item, where it is above the batch."""
    known = {name: tokens for name, tokens in sizes.items() if tokens is not None}
    name = max(known, key=lambda item: known[item], default="")
    return name if name and known[name] > case.batched_tokens else None


def _finding(case: ItemCase, modality: str, sizes: Mapping[str, int | None]) -> Finding:
    tokens = sizes[modality] or 0
    rest = [size or case.batched_tokens + 1 for name, size in sizes.items() if name != modality]
    without = f", or leave it out: --limit-mm-per-prompt '{{\"{modality}\": 0}}'"
    enough = max(rest, default=0) <= case.batched_tokens
    return Finding(
        rule=RULE,
        severity=Severity.ERROR,
        confidence=Confidence.SHOWN,
        message=(
            f"the largest has {tokens:,} tokens and is taken in whole, a batch has"
            f" {case.batched_tokens:,}: the engine will not start"
        ),
        remedy=f"--max-num-batched-tokens {tokens} or more{without if enough else ''}",
        subject=modality,
        evidence=(_CHECK,),
    )


def _open(case: ItemCase, why: str) -> Unknown:
    return Unknown(
        _architecture(case) or "checkpoint",
        f"items are taken in whole and have to fit into {case.batched_tokens:,} batched tokens:"
        f" {why}",
        topic=ITEMS,
        hint="raise --max-num-batched-tokens, or limit the kinds with --limit-mm-per-prompt",
    )


def _architecture(case: ItemCase) -> str:
    named: Sequence[Any] = case.config.get("architectures") or ()
    return str(named[0]) if named and isinstance(named, list) else ""


def _at(config: Mapping[str, Any], path: str) -> Any:
    found: Any = config
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
