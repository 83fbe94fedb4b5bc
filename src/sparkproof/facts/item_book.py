"""Which models have images and the like taken in whole, and how long the largest of them is."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec
from packaging.version import Version

from sparkproof.facts.book import load_file


class Whole(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models whose items a release takes in whole without being told to.

    Attributes:
        field, value: what the config has to say for it; "" for nothing more than its type.
        until: the first release that has it no more ("" for none).
    """

    model_types: frozenset[str]
    since: str
    until: str = ""
    field: str = ""
    value: str = ""

    def holds_in(self, version: str) -> bool:
        """Whether that release has it."""
        release = Version(version)
        return Version(self.since) <= release and (not self.until or release < Version(self.until))


class ItemSize(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens of the largest item of one modality; without field and frames they are not told.

    Attributes:
        field: of the config that has them; `default` where it is left out, 0 for not known.
        setting: key of ``--mm-processor-kwargs`` that replaces it with one of `setting_values`.
        frames, frame_tokens: of a video.
        frames_stated_since: release from which ``--limit-mm-per-prompt`` can ask for fewer.
        only_with: key of the config without which the model has no such modality.
    """

    architectures: frozenset[str]
    modality: str
    field: str = ""
    default: int = 0
    setting: str = ""
    setting_values: frozenset[int] = frozenset()
    setting_since: str = ""
    frames: int = 0
    frame_tokens: int = 0
    frames_stated_since: str = ""
    only_with: str = ""


class ItemBook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of it."""

    source: str
    checked: date
    whole: tuple[Whole, ...]
    item: tuple[ItemSize, ...]

    def sizes_of(self, architecture: str) -> tuple[ItemSize, ...]:
        """Every modality of an architecture; () for one that was not read."""
        return tuple(item for item in self.item if architecture in item.architectures)


@cache
def item_book() -> ItemBook:
    """As it was read in the releases."""
    return load_file("memory/items.toml", ItemBook)
