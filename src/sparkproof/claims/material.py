"""What a probe may look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sparkproof.core.claims import Told
from sparkproof.core.condition import Tri
from sparkproof.core.delivery import FamilyRoute
from sparkproof.core.errors import FormatError
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Artifact
from sparkproof.facts.claim_probes import Pick

NO_CODE = "the artifact's device code was not read"
_PACKAGE = "vllm/__init__.py"
_MARK = f"/{_PACKAGE}"
NO_FILES = "only the artifact itself tells, and it was not opened"


@dataclass(frozen=True)
class Landed:
    """Where a pull request is in a history.

    Attributes:
        commit: the oldest that names it, "" for none; `subject` is its first line.
        first_tag: the oldest release tag that holds it ("" for none).
        cut_off: the history is not whole, so that "none" says nothing.
    """

    commit: str
    subject: str = ""
    first_tag: str = ""
    cut_off: bool = False


@dataclass(frozen=True)
class Material:
    """Everything that was seen of one release.

    Attributes:
        routes: kernel families on the device that claims speak of; None where device code was
            not read.
        archs: labels of its machine code and PTX, e.g. ``sm_120f``; None likewise.
        artifact: its files; None where only a surface is at hand.
        pick: walks an oracle; None where nobody can.
        texts: members that were read already, blanks folded.
        history: looks for a pull request's number; None where there is no checkout.
    """

    surface: ReleaseSurface | None = None
    routes: Mapping[str, FamilyRoute] | None = None
    archs: frozenset[str] | None = None
    artifact: Artifact | None = None
    pick: Callable[[ReleaseSurface, Pick], Told] | None = None
    texts: dict[str, str] = field(default_factory=dict)
    history: Callable[[int], Landed] | None = None

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """Members by their path from the folder that holds the package, wherever that lies."""
        assert self.artifact is not None
        found = [member.path for member in self.artifact.members()]
        heads = [path.removesuffix(_PACKAGE) for path in found if f"/{path}".endswith(_MARK)]
        head = min(heads, key=lambda text: (text.count("/"), text), default="")
        return {path.removeprefix(head): path for path in found}

    def text(self, path: str) -> str:
        """A member's text with its blanks folded; "" where it can't be read as text."""
        if path not in self.texts:
            assert self.artifact is not None
            try:
                raw = self.artifact.read(path)
            except (FormatError, KeyError):
                raw = b""
            self.texts[path] = " ".join(raw.decode("utf-8", "replace").split())
        return self.texts[path]


def told(seen: bool, expect: bool, yes: str, no: str, *evidence: Evidence) -> Told:
    """The outcome of a question that was answered."""
    return Told(Tri.of(seen is expect), yes if seen else no, evidence)


def untold(why: str) -> Told:
    """The outcome of a question that could not be answered."""
    return Told(Tri.UNKNOWN, why)


def in_package(surface: ReleaseSurface, path: str) -> str:
    """The path from the folder that holds the package."""
    metadata = surface.source.path
    head = metadata.removesuffix(_PACKAGE)
    if head == metadata:
        head = "/".join(metadata.split("/")[:-2])
    return path.removeprefix(f"{head.rstrip('/')}/") if head else path
