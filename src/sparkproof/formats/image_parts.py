"""What one pass over an image gives: its documents, the merged layers, Python's view of them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from sparkproof.formats.layer_merge import LayerStack
from sparkproof.formats.oci import ImageConfig
from sparkproof.formats.python_sites import PythonView
from sparkproof.formats.site_view import SiteFile


class ImageParts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One image of one platform, but for the bytes of its layers.

    Attributes:
        config_digest: what engines call the image's id.
        keys: how the source calls each layer, lowest first.
        stored_bytes: of each layer; 0 where it is not known beforehand.
        manifest_digest: of the platform's manifest; "" where the source has none.
        index_digest: of the index above it; "" for none.
        tags: names that the source gives the image.
    """

    config: ImageConfig
    config_digest: str
    keys: tuple[str, ...]
    stored_bytes: tuple[int, ...]
    manifest_digest: str = ""
    index_digest: str = ""
    tags: tuple[str, ...] = ()


class LayerFate(NamedTuple):
    """What became of one layer: bytes inside, or why it was not read."""

    size_bytes: int = 0
    skipped: str = ""


class ImageContents(NamedTuple):
    """Everything that one pass tells, but for what a look at device code found.

    Attributes:
        site: files of packages by their path below Python's folders.
        doubles: names that stand in several of these folders, the one that counts first.
    """

    parts: ImageParts
    stack: LayerStack
    python: PythonView
    fates: tuple[LayerFate, ...]
    site: dict[str, SiteFile]
    doubles: dict[str, tuple[str, ...]]

    def text(self, path: str) -> str:
        """A kept file by its path from the root, links followed; "" where there is none."""
        placed = self.stack.files.get(self.stack.find(path))
        if placed is None or placed.file.text is None:
            return ""
        return placed.file.read().decode("utf-8", "replace")
