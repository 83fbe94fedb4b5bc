"""What every source of an image offers: its documents and its layers' stored bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from sparkproof.core.digest import sha256_hex
from sparkproof.core.errors import FormatError
from sparkproof.formats.image_parts import ImageParts
from sparkproof.formats.oci import ImageConfig, parse_config

READ_BYTES = 1 << 20


class ImageSource(Protocol):
    """A registry, an archive, a layout folder, an engine."""

    @property
    def name(self) -> str:
        """What errors call it."""
        ...

    @property
    def ordered(self) -> bool:
        """Parts are known at once, and layers come from the top down; else in any order."""
        ...

    @property
    def remote(self) -> bool:
        """Every byte comes over a network."""
        ...

    def parts(self) -> ImageParts:
        """The documents; of an unordered source, only after its layers have passed."""
        ...

    def layers(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Keys and stored bytes of the layers that are wanted; a digest is checked at the end.

        Raises:
            FormatError, UnreachableError: as they say.
        """
        ...

    def close(self) -> None:
        """Release handles."""
        ...


def check_parts(config_data: bytes, layers: int, where: str) -> ImageConfig:
    """The config, once it fits the number of layers.

    Raises:
        FormatError: no config, or one of another image.
    """
    config = parse_config(config_data, where)
    if len(config.diff_ids) != layers:
        raise FormatError(
            f"its config lists {len(config.diff_ids)} layers, its manifest {layers}", where=where
        )
    return config


def digest_of(data: bytes) -> str:
    """``sha256:<hex>``."""
    return f"sha256:{sha256_hex(data)}"
