"""The whole surface of one release."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import (
    Oracle,
    Pinned,
    Predicate,
    ReleaseSurface,
    Source,
)
from sparkproof.core.ports import Artifact
from sparkproof.core.unknown import Unknown
from sparkproof.facts.release_layout import load_release_layout
from sparkproof.release.attention import LATENT, ORACLE, read_attention
from sparkproof.release.oracles import OracleReader
from sparkproof.release.parts import PartReader, Parts
from sparkproof.release.pinned import read_pinned
from sparkproof.release.pins import BOX, Metadata, read_metadata
from sparkproof.release.quant_keys import read_quant_keys
from sparkproof.release.reading import guarded, read_predicate
from sparkproof.release.routing import read_routing_rule
from sparkproof.release.symbolic.interpreter import Run, Session
from sparkproof.release.symbolic.modules import ModuleTable
from sparkproof.release.symbolic.trace import Trace

T = TypeVar("T")
PACKAGE = "vllm"
DEVICE_RULE = "_supports_current_device"
"""What classes of experts are asked about the device alone (vLLM 0.19.1 to 0.33.0)."""


def read_surface(
    artifact: Artifact,
    *,
    target: Mapping[str, str] | None = None,
    oracles: tuple[str, ...] = (),
    whole: bool | None = None,
    attention: tuple[str, ...] = (),
) -> ReleaseSurface:
    """Read what a vLLM release says about itself; nothing is imported or run.

    Args:
        target: marker environment of the box, where it differs from a DGX Spark's.
        oracles: ids to read (all that the layout knows when empty).
        whole: also what selection does not need: models, rules, parsers, metrics, endpoints,
            wording. By default where all oracles are read.
        attention: attention backends that are named although no order lists them; all of them
            are read for a whole surface.

    Raises:
        FormatError: the artifact holds no vLLM at all.
    """
    table = ModuleTable(artifact, PACKAGE)
    if not table.present:
        raise FormatError(
            f"holds no `{PACKAGE}` package",
            where=artifact.name,
            hint="name an artifact of vLLM; `sparkproof wheel` looks at any other",
        )
    with _without_collector():
        reader = _SurfaceReader(artifact, Session(table))
        everything = not oracles if whole is None else whole
        named = None if everything else attention
        return reader.read({**BOX, **(target or {})}, oracles, named, whole=everything)


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

    def read(
        self,
        target: Mapping[str, str],
        wanted: tuple[str, ...],
        attention: tuple[str, ...] | None,
        *,
        whole: bool,
    ) -> ReleaseSurface:
        metadata = self._metadata(target)
        oracles = self._oracles(wanted, attention)
        pinned = self._pinned(wanted)
        predicates = self._predicates()
        parts = PartReader(self._session)
        env, options = parts.env(), parts.options(oracles)
        others = parts.all() if whole else parts.few()
        return ReleaseSurface(
            version=metadata.version,
            source=metadata.source,
            oracles=oracles,
            predicates=predicates,
            pinned=pinned,
            quant_keys=self._quietly(read_quant_keys, (), "release/quant-keys"),
            routing=self._quietly(read_routing_rule, None, "release/routing"),
            options=options,
            env=env,
            env_names=tuple(item.name for item in env),
            pins=metadata.pins,
            extras=metadata.extras,
            python=metadata.python,
            libraries=self._session.table.libraries(),
            unknowns=(*self._unknowns, *parts.unknowns, *self._session.table.unknowns),
            **{name: getattr(others, name) for name in Parts.__struct_fields__},
        )

    def _ask_devices(self) -> None:
        """Also ask experts for their device rule alone: in the whole answer it stands among
        tests of the model."""
        run = Run(self._session, Trace([]))
        for (name, method), owner in list(self._session.asked.items()):
            if method == "is_supported_config":
                with suppress(FormatError), guarded(name):
                    if run.method(owner, DEVICE_RULE, owner) is not None:
                        self._session.asked.setdefault((name, DEVICE_RULE), owner)

    def _metadata(self, target: Mapping[str, str]) -> Metadata:
        try:
            found = read_metadata(self._artifact, PACKAGE, target)
        except FormatError as error:
            self._unknowns.append(Unknown.from_error(error, "release/pins"))
            return Metadata("", Source(self._session.table.root))
        self._unknowns.extend(found.unknowns)
        return found

    def _oracles(
        self, wanted: tuple[str, ...], attention: tuple[str, ...] | None
    ) -> tuple[Oracle, ...]:
        layout = load_release_layout()
        found = [
            OracleReader(self._session, item).read()
            for item in layout.oracle
            if not wanted or item.id in wanted
        ]
        for oracle in (ORACLE, LATENT):
            if not wanted or oracle in wanted:
                latent = oracle == LATENT
                found.append(
                    read_attention(self._session, layout.attention, latent=latent, named=attention)
                )
        self._unknowns.extend(item for item in found if isinstance(item, Unknown))
        return tuple(item for item in found if isinstance(item, Oracle))

    def _pinned(self, wanted: tuple[str, ...]) -> tuple[Pinned, ...]:
        layouts = [
            item for item in load_release_layout().pinned if not wanted or item.oracle in wanted
        ]
        found = [read_pinned(self._session, item) for item in layouts]
        self._unknowns.extend(item for item in found if isinstance(item, Unknown))
        return tuple(item for item in found if isinstance(item, Pinned))

    def _quietly(self, read: Callable[[Session], T], fallback: T, topic: str) -> T:
        try:
            with guarded(topic):
                return read(self._session)
        except FormatError as error:
            self._unknowns.append(Unknown.from_error(error, topic))
            return fallback

    def _predicates(self) -> tuple[Predicate, ...]:
        found: list[Predicate] = []
        self._ask_devices()
        for (_, method), owner in list(self._session.asked.items()):
            try:
                found.append(read_predicate(self._session, owner, method))
            except FormatError as error:
                topic = f"select/class/{owner.name}"
                self._unknowns.append(Unknown.from_error(error, topic))
        return tuple(found)
