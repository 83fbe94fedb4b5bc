"""Parts of a release's surface beside its selection: models, parsers, metrics, defaults, wording.

Each item keeps the line where it stands, so that every statement can be looked up.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from sparkproof.core.condition import Condition, Scalar
from sparkproof.core.finding import Evidence


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Where an item stands: member of the artifact, 1-based line, symbol around it."""

    path: str
    line: int = 0
    symbol: str = ""

    def evidence(self, what: str) -> Evidence:
        """Cite this place for `what`."""
        return Evidence(where=self.path, what=what, line=self.line)


Rewrite: TypeAlias = Literal["", "lower", "upper", "snake"]
"""How a text is rewritten before it is looked up; ``snake`` is lower case without hyphens."""


class ConfigField(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One field of a configuration class: a key of its JSON option, and its dotted spelling.

    Attributes:
        type: annotation as written.
        default: a constant; `computed` is the source text where it is none.
        choices: the values of a literal, literals that it names expanded.
        closed: false where other values are taken too.
        config: name of the configuration class that it holds ("" for none).
        rewrites: what a validator does to a text before it is looked up.
        checked: a validator refuses what is none of `choices`, unless a plugin added it.
    """

    name: str
    type: str
    line: int
    default: Scalar = None
    computed: str = ""
    choices: tuple[str, ...] = ()
    closed: bool = True
    config: str = ""
    rewrites: Rewrite = ""
    checked: bool = False


class ConfigClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One configuration class with its fields, in their order.

    Attributes:
        strict: it refuses keys that it does not have.
    """

    name: str
    fields: tuple[ConfigField, ...]
    source: Source
    strict: bool = False

    def field(self, name: str) -> ConfigField | None:
        """The field of that name, if there is one."""
        return next((item for item in self.fields if item.name == name), None)


class LiteralType(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A named list of values, with the lists that it contains, e.g. ``MTPModelTypes``."""

    name: str
    values: tuple[str, ...]
    contains: tuple[str, ...]
    source: Source


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One architecture that the registry knows.

    Attributes:
        kind: table that lists it: ``text-generation``, ``multimodal``, ``speculative-decoding``,
            ``embedding`` …; ``removed`` and ``plugin`` for those that the release only remembers.
        module, implementation: where its class lives ("" where there is none).
        needs: version of Transformers that its class asks for, as written ("" for none).
        note: last release that had it, or address of the plugin.
    """

    architecture: str
    kind: str
    source: Source
    module: str = ""
    implementation: str = ""
    needs: str = ""
    note: str = ""


class ParserEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One tool-call or reasoning parser by the name that the flag takes."""

    kind: str
    name: str
    module: str
    implementation: str
    source: Source


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One metric as it is declared; a counter is exposed with ``_total`` at its end."""

    name: str
    kind: str
    source: Source


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One route of the server.

    Attributes:
        methods: lower case, ``mount`` for a mounted application.
        guards: what has to hold for it to be registered, as the source says it.
        dev_mode: one of them asks for ``VLLM_SERVER_DEV_MODE``.
    """

    path: str
    methods: tuple[str, ...]
    source: Source
    guards: tuple[str, ...] = ()
    dev_mode: bool = False


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The wording of one log call or error, with ``%s`` and ``{…}`` where values go.

    Attributes:
        level: ``info``, ``warning`` …, or ``raise``.
        times: calls of the same wording, level and file; `line` is the first.
    """

    text: str
    level: str
    path: str
    line: int
    times: int = 1


class BatchTier(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Batch defaults of one kind of device; the first tier whose `when` holds is meant.

    Attributes:
        when: over ``device_memory`` (bytes), ``device_name`` and the capability.
        tokens, sequences: of a server; `offline_…` of the `LLM` class.
    """

    when: Condition
    tokens: int
    sequences: int
    offline_tokens: int
    offline_sequences: int
    source: Source


class RuleCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One way through a rule of the configuration; the first whose `when` holds decides.

    Attributes:
        outcome: what follows: ``on``, ``off``, or the message of an error.
        reason: wording that goes with it ("" for none).
    """

    when: Condition
    outcome: str
    reason: str = ""


class ConfigRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A decision that the configuration takes by itself.

    Attributes:
        id: ``async-scheduling/default``, ``async-scheduling/forced``, ``model-runner-v2`` …
        lists: names that the rule tests against, by list, e.g. default architectures.
    """

    id: str
    cases: tuple[RuleCase, ...]
    source: Source
    lists: tuple[LiteralType, ...] = ()


class GraphRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Which CUDA-graph sizes are captured by default.

    Attributes:
        cap: formula whose smaller side counts, e.g. ``max_num_seqs * decode_query_len * 2``.
        ceilings: the other side, by capability: the first whose condition holds.
        sizes: pieces of the list of sizes, as written.
        levels: graph mode by optimization level.
        default_level: level that counts where none is given.
    """

    cap: str
    ceilings: tuple[tuple[Condition, int], ...]
    sizes: tuple[str, ...]
    levels: tuple[tuple[str, str], ...]
    default_level: str
    source: Source
