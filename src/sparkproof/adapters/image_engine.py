"""Images in this machine's docker or podman, streamed out of its ``save`` command."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Protocol

from sparkproof.adapters.child import Taken, end_group
from sparkproof.adapters.image_archive import StreamedImage
from sparkproof.adapters.image_source import READ_BYTES
from sparkproof.adapters.log_sources import container_engine, inspect_container
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.core.redaction import redact_text
from sparkproof.formats.oci import parse_container_image

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,254}\Z")
_SAID_BYTES = 4096


class Engine(Protocol):
    """A container engine."""

    def save(self, image: str) -> Iterator[bytes]:
        """An archive of the image, front to back."""
        ...

    def image_of(self, container: str) -> str:
        """Id of the image that a container was made from."""
        ...


class CommandEngine:
    """docker or podman, by its command line."""

    def save(self, image: str) -> Iterator[bytes]:
        """As `Engine.save`.

        Raises:
            UnreachableError: no engine here, or it has no such image.
        """
        argv = [container_engine(), "image", "save", image]
        with subprocess.Popen(  # noqa: S603
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            told = Taken(process.stderr, _SAID_BYTES)
            try:
                while data := process.stdout.read(READ_BYTES):
                    yield data
                process.wait()
            finally:
                end_group(process)
                told.join(1)
        if process.returncode:
            words = told.last.decode("utf-8", "replace").strip().splitlines()
            last = redact_text(words[-1])[:200] if words else "the engine failed"
            raise UnreachableError(
                f"engine:{image}: {last}", hint="`docker images` lists what is there"
            )

    def image_of(self, container: str) -> str:
        """As `Engine.image_of`."""
        return parse_container_image(inspect_container(container), f"container:{container}")


def open_engine_image(
    image: str, *, architecture: str, engine: Engine | None = None, title: str = ""
) -> StreamedImage:
    """An image of the local engine; nothing runs before its layers are asked for.

    Raises:
        UsageError: no name that an engine would take.
    """
    if not _NAME.match(image):
        raise UsageError(f"`{image}` is no image name", hint="write engine:NAME")
    chosen = engine or CommandEngine()
    name = title or f"engine:{image.rsplit('/', 1)[-1]}"

    def start() -> Iterator[bytes]:
        return chosen.save(image)

    return StreamedImage(start, name, architecture=architecture)


def open_container_image(
    container: str, *, architecture: str, engine: Engine | None = None
) -> StreamedImage:
    """The image behind a container.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    chosen = engine or CommandEngine()
    image = chosen.image_of(container)
    return open_engine_image(
        image, architecture=architecture, engine=chosen, title=f"container:{container}"
    )
