"""The inventory of an artifact: every fat binary, loose cubin and PTX text in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.ports import Artifact, Member, PassingArtifact, Progress
from sparkproof.core.unknown import Unknown
from sparkproof.devicecode.member import MemberView, read_member
from sparkproof.formats.device_scan import TOPIC
from sparkproof.formats.elf import HEADER_BYTES

TEXT_SUFFIXES = (
    *(".c", ".cc", ".cfg", ".cmake", ".cpp", ".css", ".csv", ".cu", ".cuh", ".h", ".hpp", ".html"),
    *(".in", ".inl", ".ipynb", ".ipp", ".j2", ".jinja", ".js", ".json", ".md", ".pxd", ".py"),
    *(".pyi", ".pyx", ".rst", ".sh", ".toml", ".txt", ".xml", ".yaml", ".yml"),
)
"""Source and text: never loaded as device code, and there are thousands of them."""


def read_device_code(
    artifact: Artifact,
    device: ComputeCapability | None = None,
    progress: Progress | None = None,
    *,
    more_doors: Sequence[Callable[[], Artifact]] = (),
) -> DeviceCode:
    """Read all device code of an artifact, streaming: flat memory, nothing on disk.

    Args:
        device: whose loader chooses one entry per container, and whose kernels are then read;
            None for the headers alone.
        more_doors: each opens the same artifact again, for one further thread. Inflating and
            decompressing run beside each other: two threads take 0.6 of the time of one.

    Raises:
        UnreachableError: the source went away.
    """
    if isinstance(artifact, PassingArtifact):
        return _read_passing(artifact, device)
    members = [member for member in artifact.members() if _may_hold_code(member)]
    reader = _Reader(members, device, progress)
    if progress:
        progress.start("device code", sum(member.size_bytes for member in members))
    try:
        if more_doors:
            with ThreadPoolExecutor(len(more_doors)) as pool:
                others = [pool.submit(reader.work_behind, door) for door in more_doors]
                reader.work(artifact)
                for other in others:
                    other.result()
        else:
            reader.work(artifact)
    finally:
        if progress:
            progress.finish()
    return reader.result()


class _Reader:
    """Hands members to threads, largest first, and gathers what they find."""

    def __init__(
        self,
        members: Sequence[Member],
        device: ComputeCapability | None,
        progress: Progress | None,
    ) -> None:
        self._todo = iter(sorted(members, key=lambda member: -member.stored_bytes))
        self._device = device
        self._progress = progress
        self._lock = Lock()
        self._views: dict[str, MemberView] = {}

    def work_behind(self, door: Callable[[], Artifact]) -> None:
        """As `work`, behind a door of its own."""
        artifact = door()
        try:
            self.work(artifact)
        finally:
            artifact.close()

    def work(self, door: Artifact) -> None:
        """Take members until none is left."""
        while True:
            with self._lock:
                member = next(self._todo, None)
            if member is None:
                return
            view = self._look(door, member)
            if view.library or view.loose or view.unknowns:
                with self._lock:
                    self._views[member.path] = view

    def result(self) -> DeviceCode:
        """Everything found, in the order of paths."""
        views = [self._views[path] for path in sorted(self._views)]
        return DeviceCode(
            libraries=tuple(view.library for view in views if view.library),
            loose=tuple(view.loose for view in views if view.loose),
            unknowns=tuple(unknown for view in views for unknown in view.unknowns),
        )

    def _look(self, door: Artifact, member: Member) -> MemberView:
        passed = 0

        def counted() -> Iterator[bytes]:
            nonlocal passed
            for chunk in door.stream(member.path):
                passed += len(chunk)
                self._advance(len(chunk))
                yield chunk

        try:
            return read_member(member.path, member.size_bytes, counted(), self._device)
        except FormatError as error:
            return MemberView(unknowns=(Unknown.from_error(error, TOPIC),))
        finally:
            self._advance(member.size_bytes - passed)

    def _advance(self, amount: int) -> None:
        if self._progress and amount:
            with self._lock:
                self._progress.advance(amount)


def _read_passing(artifact: PassingArtifact, device: ComputeCapability | None) -> DeviceCode:
    """As `read_device_code`, while the members pass by."""

    def look(path: str, size_bytes: int, chunks: Iterator[bytes]) -> MemberView:
        try:
            return read_member(path, size_bytes, chunks, device)
        except FormatError as error:
            return MemberView(unknowns=(Unknown.from_error(error, TOPIC),))

    found = artifact.walk(_may_hold_code, look)
    views = [relocate(*found[path], path) for path in sorted(found)]
    return DeviceCode(
        libraries=tuple(view.library for view in views if view.library),
        loose=tuple(view.loose for view in views if view.loose),
        unknowns=tuple(unknown for view in views for unknown in view.unknowns),
    )


def relocate(seen: str, view: MemberView, path: str) -> MemberView:
    """The view under the member's own path, where it was `seen` under another one."""
    library, loose = view.library, view.loose
    return MemberView(
        library=msgspec.structs.replace(library, path=path) if library else None,
        loose=msgspec.structs.replace(loose, path=path) if loose else None,
        unknowns=tuple(
            msgspec.structs.replace(item, where=path + item.where.removeprefix(seen))
            for item in view.unknowns
        ),
    )


def _may_hold_code(member: Member) -> bool:
    size = max(member.size_bytes, member.stored_bytes)  # a small size may be a lie
    return size >= HEADER_BYTES and not member.path.endswith(TEXT_SUFFIXES)
