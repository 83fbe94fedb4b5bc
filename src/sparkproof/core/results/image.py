"""Payloads of ``image`` and ``image diff``."""

from __future__ import annotations

import msgspec

from sparkproof.core.deployment import Box
from sparkproof.core.observations.image import ImageObservation
from sparkproof.core.results.wheel import WheelResult


class ImageResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One image.

    Attributes:
        pin: the name to deploy by ("" where the source knows no digest of a manifest).
        box: what the image tells of nvcc, ninja, Python and packages; `prove` uses it.
        cuda: major of the CUDA runtime that vLLM's libraries link ("" for none).
        moving: the tag is one that is pushed again and again.
        age_days: since it was built; -1 where it does not tell.
        newer: tags of the same form with a higher version.
        code: device code and its routes.
    """

    image: ImageObservation
    pin: str
    box: Box
    cuda: str
    code: WheelResult
    tag: str = ""
    moving: bool = False
    age_days: int = -1
    newer: tuple[str, ...] = ()


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that differs; "" stands for absent.

    Attributes:
        what: ``package``, ``tool``, ``image``, ``family``, ``environment`` or ``code``.
    """

    what: str
    name: str
    before: str
    after: str


class ImageDiffResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes from one image to another."""

    before: ImageResult
    after: ImageResult
    changes: tuple[Change, ...]


DOCUMENTS = {"image show": ImageResult, "image diff": ImageDiffResult}
