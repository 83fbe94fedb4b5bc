"""The whole surface of one release."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sparkproof.core.condition import Condition, EnvTest, leaves
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import (
    EnvVariable,
    Option,
    Oracle,
    Pin,
    Pinned,
    Predicate,
    ReleaseSurface,
    Source,
)
from sparkproof.core.ports import Artifact
from sparkproof.core.unknown import Unknown
from sparkproof.facts.release_layout import load_release_layout
from sparkproof.release.attention import read_attention
from sparkproof.release.options import read_env, read_option
from sparkproof.release.oracles import OracleReader
from sparkproof.release.pinned import read_pinned
from sparkproof.release.pins import BOX, read_pins
from sparkproof.release.reading import read_predicate
from sparkproof.release.symbolic.interpreter import Session
from sparkproof.release.symbolic.modules import ModuleTable

PACKAGE = "vllm"


def read_surface(
    artifact: Artifact,
    *,
    target: Mapping[str, str] | None = None,
    oracles: tuple[str, ...] = (),
) -> ReleaseSurface:
    """Read what a vLLM release says about its own selection; nothing is imported or run.

    Args:
        target: marker environment of the box, where it differs from a DGX Spark's.
        oracles: ids to read (all that the layout knows when empty).

    Raises:
        FormatError: the artifact holds no vLLM at all.
    """
    table = ModuleTable(artifact, PACKAGE)
    if not table.present:
        raise FormatError(f"holds no `{PACKAGE}` package", where=artifact.name)
    with _without_collector():
        return _SurfaceReader(artifact, Session(table)).read({**BOX, **(target or {})}, oracles)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Syntax trees hold no cycles, yet their number makes the collector run again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _SurfaceReader:
    def __init__(self, artifact: Artifact, session: Session) -> None:
        self._artifact = artifact
        self._session = session
        self._unknowns: list[Unknown] = []

    def read(self, target: Mapping[str, str], wanted: tuple[str, ...]) -> ReleaseSurface:
        version, source, pins = self._pins(target)
        oracles = self._oracles(wanted)
        pinned = self._pinned(wanted)
        predicates = self._predicates()
        env = self._env()
        steering = _env_names(oracles, predicates)
        return ReleaseSurface(
            version=version,
            source=source,
            oracles=oracles,
            predicates=predicates,
            pinned=pinned,
            options=self._options(oracles),
            env=tuple(item for item in env if item.name in steering),
            env_names=tuple(item.name for item in env),
            pins=pins,
            libraries=self._session.table.libraries(),
            unknowns=(*self._unknowns, *self._session.table.unknowns),
        )

    def _pins(self, target: Mapping[str, str]) -> tuple[str, Source, tuple[Pin, ...]]:
        try:
            version, source, pins, unknowns = read_pins(self._artifact, PACKAGE, target)
        except FormatError as error:
            self._unknowns.append(Unknown.from_error(error, "release/pins"))
            return "", Source(self._session.table.root), ()
        self._unknowns.extend(unknowns)
        return version, source, pins

    def _oracles(self, wanted: tuple[str, ...]) -> tuple[Oracle, ...]:
        layout = load_release_layout()
        found = [
            OracleReader(self._session, item).read()
            for item in layout.oracle
            if not wanted or item.id in wanted
        ]
        if not wanted or "attention/backend" in wanted:
            found.append(read_attention(self._session, layout.attention))
        self._unknowns.extend(item for item in found if isinstance(item, Unknown))
        return tuple(item for item in found if isinstance(item, Oracle))

    def _pinned(self, wanted: tuple[str, ...]) -> tuple[Pinned, ...]:
        layouts = [
            item for item in load_release_layout().pinned if not wanted or item.oracle in wanted
        ]
        found = [read_pinned(self._session, item) for item in layouts]
        self._unknowns.extend(item for item in found if isinstance(item, Unknown))
        return tuple(item for item in found if isinstance(item, Pinned))

    def _predicates(self) -> tuple[Predicate, ...]:
        found: list[Predicate] = []
        for (_, method), owner in list(self._session.asked.items()):
            try:
                found.append(read_predicate(self._session, owner, method))
            except FormatError as error:
                topic = f"select/class/{owner.name}"
                self._unknowns.append(Unknown.from_error(error, topic))
        return tuple(found)

    def _env(self) -> tuple[EnvVariable, ...]:
        try:
            return read_env(self._session)
        except FormatError as error:
            self._unknowns.append(Unknown.from_error(error, "release/env"))
            return ()

    def _options(self, oracles: tuple[Oracle, ...]) -> tuple[Option, ...]:
        found: list[Option] = []
        for layout in load_release_layout().option:
            option = read_option(self._session, layout)
            if isinstance(option, Unknown):
                self._unknowns.append(option)
            elif option is not None:
                found.append(option)
        attention = next((item for item in oracles if item.id == "attention/backend"), None)
        if attention is not None:
            names = tuple(item.name for item in attention.members if not item.alias_of)
            found.append(Option(attention.flag, names, None, attention.members[0].source))
        return tuple(found)


def _env_names(oracles: tuple[Oracle, ...], predicates: tuple[Predicate, ...]) -> set[str]:
    conditions: list[Condition] = [
        condition
        for oracle in oracles
        for branch in oracle.branches
        for condition in (branch.when, *(attempt.accept for attempt in branch.attempts))
    ]
    conditions.extend(item.when for predicate in predicates for item in predicate.decisions)
    return {
        leaf.name
        for condition in dict.fromkeys(conditions)
        for leaf in leaves(condition)
        if isinstance(leaf, EnvTest)
    }
