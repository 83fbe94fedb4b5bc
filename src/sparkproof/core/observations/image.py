"""A container image as found: what is really in it, and what it says of itself. No judgement."""

from __future__ import annotations

import msgspec


class LayerSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One layer, lowest first.

    Attributes:
        stored_bytes: as stored, 0 where the source does not tell; `size_bytes` uncompressed, 0
            where it was not read.
        command: the build step behind it.
        skipped: why it was not read ("" if it was).
    """

    digest: str
    stored_bytes: int
    size_bytes: int
    command: str
    skipped: str = ""


class PackageSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One installed distribution, by its METADATA.

    Attributes:
        folder: the folder of packages it lies in.
        layer: number of the layer that brought it, lowest is 0.
        judged: it is the one that the image's Python would import.
    """

    name: str
    version: str
    folder: str
    layer: int
    judged: bool


class ToolSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One program.

    Attributes:
        path: from the root; "" where only the package database names it.
        reachable: found where vLLM looks: in the folders that variables name, or on the path.
        version: as far as path or package database tell.
        told_by: ``file`` or ``package database``.
    """

    name: str
    path: str
    reachable: bool
    version: str = ""
    told_by: str = "file"


class VllmSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One copy of vLLM.

    Attributes:
        folder: the folder of packages it lies in.
        version: of its METADATA ("" for none); of several, the one that agrees with the stamp.
        stamped: ``__version__`` in its own ``_version.py``.
        commit: as stamped there.
        judged: it is the one that Python would import.
        stated: the versions of all METADATA beside it, where one was left by another installation.
    """

    folder: str
    version: str
    stamped: str
    commit: str
    judged: bool
    stated: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """What the package itself reports: its stamp; METADATA where there is none, or it says
        the same with a local part.
        """
        same = self.version.partition("+")[0] == self.stamped.partition("+")[0]
        return self.version if same or not self.stamped else self.stamped


class ReplacedSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of vLLM that a later layer replaced after the package was installed.

    Attributes:
        layer: that brought what counts; `installed` is the one with the package's own file.
        recorded_bytes: size that the package's RECORD gives; 0 if it does not say.
    """

    path: str
    layer: int
    installed: int
    size_bytes: int
    recorded_bytes: int


class ImageObservation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One image of one platform.

    Attributes:
        config_digest: the image's id; the same from every source.
        manifest_digest: of the platform's manifest; `index_digest` of the index above it. One of
            the two is what to pin; both "" where the source has none.
        created: RFC 3339, as the image says.
        env: without secrets.
        python: interpreter as it is called; `python_told_by` says how that is known.
        sites: folders of packages in the order in which Python looks.
        torch_cuda: CUDA line that torch was built for, e.g. ``13.0``.
        packages: those that an operator asks about, hidden copies too.
        installed: every distribution that Python would import, name to version.
    """

    name: str
    architecture: str
    os: str
    config_digest: str
    manifest_digest: str = ""
    index_digest: str = ""
    tags: tuple[str, ...] = ()
    created: str = ""
    env: dict[str, str] = {}
    labels: dict[str, str] = {}
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    workdir: str = ""
    distribution: str = ""
    layers: tuple[LayerSeen, ...] = ()
    python: str = ""
    python_version: str = ""
    python_told_by: str = ""
    python_certain: bool = False
    sites: tuple[str, ...] = ()
    vllms: tuple[VllmSeen, ...] = ()
    packages: tuple[PackageSeen, ...] = ()
    installed: dict[str, str] = {}
    tools: tuple[ToolSeen, ...] = ()
    replaced: tuple[ReplacedSeen, ...] = ()
    torch_cuda: str = ""

    @property
    def vllm(self) -> VllmSeen | None:
        """The copy that is judged."""
        return next((copy for copy in self.vllms if copy.judged), None)

    def package(self, name: str) -> PackageSeen | None:
        """The distribution of that name that Python would import."""
        return next((p for p in self.packages if p.name == name and p.judged), None)

    def tool(self, name: str) -> ToolSeen | None:
        """The program of that name, if it is there at all."""
        return next((tool for tool in self.tools if tool.name == name), None)
