"""Everything of a release beside its selection functions; each part fails on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import (
    BatchTier,
    ConfigClass,
    ConfigRule,
    Endpoint,
    GraphRule,
    LiteralType,
    Message,
    Metric,
    ModelEntry,
    ParserEntry,
)
from sparkproof.core.observations.release_surface import EnvVariable, Option, Oracle
from sparkproof.core.unknown import Unknown
from sparkproof.facts.release_layout import load_release_layout
from sparkproof.release.arguments import ArgumentReader
from sparkproof.release.configs import read_configs
from sparkproof.release.endpoints import EndpointReader
from sparkproof.release.environment import read_env
from sparkproof.release.graphs import read_graph_rule
from sparkproof.release.messages import read_messages
from sparkproof.release.metrics import read_metrics
from sparkproof.release.options import read_option
from sparkproof.release.rules import read_async_rules, read_batch_tiers, read_runner_rules
from sparkproof.release.symbolic.interpreter import Session
from sparkproof.release.tables import read_models, read_parsers

T = TypeVar("T")
_ATTENTION = ("attention/backend", "attention/mla")


class Parts(msgspec.Struct, frozen=True):
    """The parts, named as in the surface."""

    models: tuple[ModelEntry, ...] = ()
    configs: tuple[ConfigClass, ...] = ()
    literals: tuple[LiteralType, ...] = ()
    batch_tiers: tuple[BatchTier, ...] = ()
    rules: tuple[ConfigRule, ...] = ()
    graphs: GraphRule | None = None
    parsers: tuple[ParserEntry, ...] = ()
    metrics: tuple[Metric, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    messages: tuple[Message, ...] = ()


class PartReader:
    """Reads parts; what can't be read is kept as an `Unknown` with its topic."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._table = session.table
        self.unknowns: list[Unknown] = []

    def _try(self, topic: str, read: Callable[[], T], fallback: T) -> T:
        try:
            return read()
        except FormatError as error:
            self.unknowns.append(Unknown.from_error(error, topic))
        except RecursionError:
            self.unknowns.append(
                Unknown(where=self._table.root, why="source is nested too deeply", topic=topic)
            )
        return fallback

    def env(self) -> tuple[EnvVariable, ...]:
        """Every environment variable."""
        return self._try("release/env", lambda: read_env(self._table), ())

    def options(self, oracles: tuple[Oracle, ...]) -> tuple[Option, ...]:
        """Every option of the server; the few that selection needs where they can't be followed."""
        reader = ArgumentReader(self._table)
        places = load_release_layout().serve_arguments
        self._try("release/options", lambda: reader.read(places), None)
        self.unknowns.extend(reader.unknowns)
        found = dict(reader.options)
        for layout in load_release_layout().option:
            if layout.flag not in found:
                option = read_option(self._session, layout)
                if isinstance(option, Unknown):
                    self.unknowns.append(option)
                elif option is not None and not reader.options:
                    found[layout.flag] = option
        attention = next((item for item in oracles if item.id in _ATTENTION), None)
        if attention is not None and attention.members:
            found[attention.flag] = _with_members(found.get(attention.flag), attention)
        return tuple(found.values())

    def models(self) -> tuple[ModelEntry, ...]:
        """Every architecture of the registry."""
        return self._try("release/models", lambda: read_models(self._table), ())

    def few(self) -> Parts:
        """What the arguments and the architecture of one deployment are held against."""
        configs, literals = self._configs()
        messages, unread = read_messages(self._table, load_release_layout().argument_checks)
        self.unknowns.extend(unread)
        return Parts(
            models=self.models(),
            configs=configs,
            literals=literals,
            graphs=self._graphs(),
            parsers=self._parsers(),
            messages=messages,
        )

    def _parsers(self) -> tuple[ParserEntry, ...]:
        return self._try("release/parsers", lambda: read_parsers(self._table), ())

    def _graphs(self) -> GraphRule | None:
        return self._try("release/graphs", lambda: read_graph_rule(self._table), None)

    def _configs(self) -> tuple[tuple[ConfigClass, ...], tuple[LiteralType, ...]]:
        none: tuple[tuple[ConfigClass, ...], tuple[LiteralType, ...]] = ((), ())
        return self._try("release/configs", lambda: read_configs(self._table), none)

    def all(self) -> Parts:
        """All the other parts."""
        layout = load_release_layout()
        configs, literals = self._configs()
        metrics, unread = read_metrics(self._table)
        messages, more = read_messages(self._table)
        self.unknowns.extend((*unread, *more))
        endpoints = EndpointReader(self._table)
        empty: list[ConfigRule] = []
        async_rules = self._try("release/async", lambda: read_async_rules(self._table), empty)
        runner_rules = self._try("release/runner", lambda: read_runner_rules(self._table), empty)
        parts = Parts(
            models=self.models(),
            configs=configs,
            literals=literals,
            batch_tiers=self._try("release/batch", lambda: read_batch_tiers(self._table), ()),
            rules=(*async_rules, *runner_rules),
            graphs=self._graphs(),
            parsers=self._parsers(),
            metrics=metrics,
            endpoints=self._try(
                "release/endpoints", lambda: endpoints.read(layout.server_application), ()
            ),
            messages=messages,
        )
        self.unknowns.extend(endpoints.unknowns)
        self._missing(parts)
        return parts

    def _missing(self, parts: Parts) -> None:
        """An empty part is no answer."""
        for name in ("configs", "metrics", "messages"):
            if not getattr(parts, name) and not any(
                item.topic == f"release/{name}" for item in self.unknowns
            ):
                why = f"no {name} were found where releases have them"
                self.unknowns.append(
                    Unknown(where=self._table.root, why=why, topic=f"release/{name}")
                )


def _with_members(option: Option | None, attention: Oracle) -> Option:
    """The attention flag takes the members of an enumeration, by name."""
    names = tuple(item.name for item in attention.members if not item.alias_of)
    if option is None:
        source = attention.members[0].source
        return Option(attention.flag, names, None, source, names=(attention.flag,))
    return msgspec.structs.replace(option, choices=names, closed=True)
