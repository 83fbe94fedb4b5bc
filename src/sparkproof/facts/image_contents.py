"""What of a container image is looked at: packages, files, programs, and what tags claim."""

from __future__ import annotations

from datetime import date
from functools import cache

import msgspec

from sparkproof.facts.book import load_file


class ImageTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that is looked up on the path.

    Attributes:
        dpkg: shell-style patterns of distribution packages that bring it.
        homes: environment variables whose ``bin`` folder is asked before the path.
        default_home: whose ``bin`` folder is asked last ("" for none).
    """

    name: str
    dpkg: tuple[str, ...]
    homes: tuple[str, ...] = ()
    default_home: str = ""


class SystemStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Regular expressions for build steps that install packages of the distribution only."""

    wanted: str
    unless: str


class ImageContents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``image_contents.toml``."""

    source: str
    checked: date
    packages: tuple[str, ...]
    code_folders: tuple[str, ...]
    kept_folders: tuple[str, ...]
    kept_suffixes: tuple[str, ...]
    kept_endings: tuple[str, ...]
    kept_in_dist_info: tuple[str, ...]
    tools: tuple[ImageTool, ...]
    system_steps: tuple[SystemStep, ...]
    moving_tag: str
    dormant_days: int
    version_in_tag: str
    cuda_in_tag: str
    version_labels: tuple[str, ...]


@cache
def image_contents() -> ImageContents:
    """The one there is."""
    return load_file("image_contents.toml", ImageContents)
