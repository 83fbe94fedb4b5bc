"""One release for `upgrade`: its artifact, or the surface that is shipped for its number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec
from packaging.version import InvalidVersion, Version

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.observation_cache import ObservationCache
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.claims.answer import answer_claim
from sparkproof.claims.material import Material
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.delivery import FamilyRoute, Route
from sparkproof.core.deployment import Box
from sparkproof.core.errors import UsageError
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.release_surface import Option, ReleaseSurface
from sparkproof.core.ports import Progress
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.facts.claim import Claim, claims
from sparkproof.facts.claim_records import claim_records
from sparkproof.facts.gate_operators import gate_operators
from sparkproof.facts.surfaces import life_of, load_surface, shipped_surfaces
from sparkproof.release.surface import read_surface
from sparkproof.upgrade.lifted import KINDS
from sparkproof.upgrade.view import Born
from sparkproof.usecases.claims.pick import ClaimWalk
from sparkproof.usecases.fit.inputs import version_of_artifact
from sparkproof.usecases.looking import Seen, see_artifact, see_surface
from sparkproof.usecases.other_platform import refuse_other_platform
from sparkproof.usecases.vllm_word import refuse_bare_word

_VERSION = re.compile(r"v?(\d+(?:\.\d+)+(?:\.?(?:post|rc|dev|a|b)\d+)?)\Z")

Surfaces = Callable[[str], ReleaseSurface | None]
"""A release's surface by version number; None where none is shipped."""


class Side(msgspec.Struct, frozen=True):
    """One release.

    Attributes:
        reference: what was typed.
        seen: surface, and device code where an artifact was opened.
        claims: its answers to the claims that `upgrade` looks at.
        subject: None where only a surface was asked.
    """

    reference: str
    seen: Seen
    claims: dict[str, ClaimAnswer]
    subject: Subject | None = None

    @property
    def version(self) -> str:
        """Version that the artifact or surface tells."""
        return self.seen.surface.version


class Opener:
    """Opens every release that is asked for once."""

    def __init__(
        self,
        capability: ComputeCapability,
        box: Box,
        profiles: Sequence[CheckpointProfile],
        *,
        surfaces: Surfaces,
        cache: ArtifactCache | None,
        offline: bool,
        progress: Progress,
        attention: Sequence[str] = (),
    ) -> None:
        self.capability = capability
        self._box = box
        self._profiles = tuple(profiles)
        self._surfaces = surfaces
        self._cache = cache
        self._offline = offline
        self._progress = progress
        self._attention = tuple(sorted({name.upper() for name in attention if name}))
        self._open: dict[tuple[str, bool], Side] = {}
        self._options: dict[str, dict[str, Option]] = {}

    def open(self, reference: str, *, by_number: bool) -> Side:
        """The release behind a reference.

        Args:
            by_number: a shipped surface will do where the reference tells a version.

        Raises:
            UsageError, UnreachableError, FormatError: as they say.
        """
        key = (reference, by_number)
        if key not in self._open:
            self._open[key] = self._opened(reference, by_number=by_number)
        return self._open[key]

    def _opened(self, reference: str, *, by_number: bool) -> Side:
        number = version_in(reference)
        if by_number and number:
            side = self.shipped(number, reference)
            if side is not None:
                return side
        bare = _VERSION.match(reference)
        return self._read(f"vllm=={bare[1]}" if bare else reference)

    def shipped(self, version: str, reference: str = "") -> Side | None:
        """The surface that is shipped for a version, its operators taken as compiled."""
        surface = self._surfaces(version)
        if surface is None:
            return None
        seen = see_surface(surface, self.capability)
        assumed = msgspec.structs.replace(seen, routes=_assumed(surface.version))
        return Side(reference or version, assumed, _answers(surface, None))

    def born(self, before: Side, after: Side) -> dict[str, Born]:
        """By flag, the options that came on the way from one release to the other, as they came."""
        found: dict[str, Born] = {}
        for option in after.seen.surface.options:
            if before.seen.surface.option(option.flag) is not None:
                continue
            release = _first_between(option.flag, before.version, after.version)
            came = self._options_of(release).get(option.flag) if release else None
            if came is not None:
                found[option.flag] = Born(release, came)
        return found

    def _options_of(self, version: str) -> dict[str, Option]:
        if version not in self._options:
            surface = self._surfaces(version)
            options = surface.options if surface is not None else ()
            self._options[version] = {item.flag: item for item in options}
        return self._options[version]

    def _read(self, reference: str) -> Side:
        box = self._box
        target = Target(platform=box.platform, python=box.python)
        refuse_bare_word(reference)
        opened = subject, artifact = open_artifact(
            reference,
            target,
            cache=self._cache,
            offline=self._offline,
            progress=self._progress,
            whole=True,
        )
        memory = ObservationCache(self._cache, subject)
        try:
            refuse_other_platform(subject, box.platform)
            seen = see_artifact(
                opened,
                self.capability,
                box,
                self._profiles,
                self._progress,
                attention=self._attention,
                cache=self._cache,
            )
            surface = memory.recall(
                ReleaseSurface,
                {"whole": True, "attention": self._attention},
                lambda: read_surface(artifact, whole=True, attention=self._attention),
            )
        finally:
            artifact.close()
        whole = msgspec.structs.replace(seen, surface=surface)
        return Side(reference, whole, _answers(surface, seen), subject)


def shipped_versions() -> tuple[str, ...]:
    """Releases whose surface is shipped, oldest first."""
    return tuple(shipped_surfaces())


def shipped_surface(version: str) -> ReleaseSurface | None:
    """The surface of exactly that release; None where none is shipped.

    Raises:
        FormatError: its file is damaged.
    """
    known = version in shipped_surfaces()
    return load_surface(version) if known else None


def is_number(reference: str) -> bool:
    """Whether a reference is a version number and nothing else."""
    return _VERSION.match(reference.strip()) is not None


def version_in(reference: str) -> str:
    """The version that a number, an exact requirement or a wheel's file name tells."""
    bare = _VERSION.match(reference.strip())
    return bare[1] if bare else version_of_artifact(reference)


def _first_between(flag: str, before: str, after: str) -> str:
    """The first release that has a flag, where that lies between two others; else ""."""
    life = life_of("options", flag)
    try:
        between = life is not None and Version(before) < Version(life.first) < Version(after)
    except InvalidVersion:
        between = False
    return life.first if life is not None and between else ""


def _assumed(version: str) -> dict[str, FamilyRoute]:
    """Every family that an operator of the release asks for, as if it were compiled."""
    families = {item.family for item in gate_operators().of(version) if item.family}
    return {
        name: FamilyRoute(name, name, "assumed", Route.NONE, (), promised=True) for name in families
    }


def _answers(surface: ReleaseSurface, seen: Seen | None) -> dict[str, ClaimAnswer]:
    """From the surface and its device code; else what the release's own wheel said before."""
    routes = seen.routes if seen is not None and seen.code is not None else None
    material = Material(surface=surface, routes=routes, pick=ClaimWalk())
    record = claim_records().get(surface.version)
    found: dict[str, ClaimAnswer] = {}
    for claim in _asked():
        answer = answer_claim(claim, material).answer
        recorded = record.of(claim) if record is not None else None
        if answer is ClaimAnswer.CANNOT_BE_TOLD and recorded is not None:
            answer = recorded.answer
        found[claim.id] = answer
    return found


def _asked() -> tuple[Claim, ...]:
    return tuple(item for item in claims().values() if item.kind in KINDS)


def refuse_missing(reference: str, name: str) -> str:
    """The reference of a deployment's present release.

    Raises:
        UsageError: the deployment names none.
    """
    if not reference:
        raise UsageError(
            f"{name} does not say which artifact it runs now",
            hint="give its `artifact`, or --from REF",
        )
    return reference
