"""What is known about memory: rules by release, cache formats, estimates. Data lies in TOML."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import TypeVar

import msgspec
from packaging.version import InvalidVersion, Version

from sparkproof.core.errors import FormatError, UsageError
from sparkproof.facts.book import load_file
from sparkproof.facts.rest_model import calibration
from sparkproof.facts.schema import Method

T = TypeVar("T", str, int, float, bool)


class RuleChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value of one rule, from a release on."""

    key: str
    value: str | int | float | bool
    since: str
    meaning: str
    source: str
    checked: date


class _RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    examined: tuple[str, ...]
    change: tuple[RuleChange, ...]


class CacheFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``--kv-cache-dtype``; the data file says what `packing` means."""

    name: str
    element_bytes: float
    packing: str
    source: str
    checked: date
    aliases: tuple[str, ...] = ()
    row_bytes: int = 0
    key_bits: int = 0
    value_bits: int = 0
    key_extra_bytes: int = 0
    value_extra_bytes: int = 0


class _FormatFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dtype: tuple[CacheFormat, ...]


class KvRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one examined release.

    Attributes:
        version: the release that was examined.
        values: rule key to the change in force.
    """

    version: str
    values: dict[str, RuleChange]

    def text(self, key: str) -> str:
        """A rule whose value is a word."""
        return self._value(key, str)

    def flag(self, key: str) -> bool:
        """A rule that holds or does not."""
        return self._value(key, bool)

    def count(self, key: str) -> int:
        """A rule whose value is a whole number."""
        return self._value(key, int)

    def number(self, key: str) -> float:
        """A rule whose value is a fraction."""
        return self._value(key, float)

    def words(self, key: str) -> frozenset[str]:
        """A rule whose value is a list of words."""
        return frozenset(self.text(key).replace(" ", "").split(",")) - {""}

    def source(self, key: str) -> str:
        """Where the rule was read."""
        return self.values[key].source

    def _value(self, key: str, kind: type[T]) -> T:
        value = self.values[key].value
        if not isinstance(value, kind):
            raise FormatError(f"rule `{key}` is no {kind.__name__}", where="facts/data/memory")
        return value


class RuleChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which examined releases answer for a version.

    Attributes:
        exact: the version itself was examined; `rules` then holds one entry.
        rules: one entry, or both neighbours, older first; where they disagree, nothing is known.
        note: why it is not exact ("" where it is).
    """

    version: str
    exact: bool
    rules: tuple[KvRules, ...]
    note: str = ""


@cache
def _rule_file() -> _RuleFile:
    return load_file("memory/kv_rules.toml", _RuleFile)


@cache
def examined_versions() -> tuple[Version, ...]:
    """Releases whose source was read, oldest first."""
    return tuple(sorted(Version(text) for text in _rule_file().examined))


def all_changes() -> tuple[RuleChange, ...]:
    """Every dated value of every rule."""
    return _rule_file().change


@cache
def rules_of(version: str) -> KvRules:
    """The rules of one examined release."""
    wanted = Version(version)
    values: dict[str, RuleChange] = {}
    for change in sorted(all_changes(), key=lambda item: Version(item.since)):
        if Version(change.since) <= wanted:
            values[change.key] = change
    return KvRules(version, values)


def choose_rules(text: str) -> RuleChoice:
    """The examined release of a version, or its neighbours.

    Raises:
        UsageError: no version, or older than everything that was examined.
    """
    try:
        wanted = Version(text)
    except InvalidVersion as error:
        raise UsageError(f"`{text}` is no version", hint="e.g. --vllm 0.33.0") from error
    known = examined_versions()
    final = Version(wanted.base_version)
    if final in known and not wanted.is_prerelease:
        return RuleChoice(text, exact=True, rules=(rules_of(str(final)),))
    below = [item for item in known if item <= wanted]
    above = [item for item in known if item > wanted]
    if not below:
        raise UsageError(
            f"vLLM {text} is older than the oldest release examined, {known[0]}",
            hint="memory rules start there",
        )
    neighbours = (below[-1], *above[:1])
    names = " and ".join(map(str, neighbours))
    note = (
        f"{text} was not examined: {names} were asked in its place"
        if above
        else f"{text} is newer than {names}, the newest release examined"
    )
    return RuleChoice(
        text, exact=False, rules=tuple(rules_of(str(v)) for v in neighbours), note=note
    )


@cache
def cache_formats() -> dict[str, CacheFormat]:
    """Cache formats by every name they go by."""
    found = load_file("memory/kv_dtypes.toml", _FormatFile).dtype
    return {name: item for item in found for name in (item.name, *item.aliases)}


class AttentionBackend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Block sizes that one backend's kernels take."""

    name: str
    sizes: tuple[int, ...]
    source: str
    checked: date
    multiples: bool = False
    latent: bool = False
    default_block: int = 16

    @property
    def smallest(self) -> int:
        """Tokens of the smallest block."""
        return min(self.sizes)

    def takes(self, block: int) -> bool:
        """Whether a block can be cut into the backend's own."""
        return any(block % size == 0 for size in self.sizes)

    @property
    def preferred(self) -> int:
        """Block size without ``--block-size``."""
        return self.default_block if self.takes(self.default_block) else self.smallest


class BackendFallback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a device falls to where no backend is named."""

    device: str
    attention: str
    latent: str
    sparse_latent: str
    source: str
    checked: date


class _BackendFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    backend: tuple[AttentionBackend, ...]
    fallback: tuple[BackendFallback, ...]


class BatchTier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Batch defaults of one class of devices."""

    batched_tokens: int
    sequences: int
    since: str
    source: str
    checked: date
    device: str = ""
    except_device: str = ""
    min_memory_gib: int = 0
    per_rank: bool = False


class _TierFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tier: tuple[BatchTier, ...]


@cache
def _backend_file() -> _BackendFile:
    return load_file("memory/attention_backends.toml", _BackendFile)


def attention_backends() -> dict[str, AttentionBackend]:
    """Backends by name."""
    return {item.name: item for item in _backend_file().backend}


def fallback_backend(capability: str) -> BackendFallback | None:
    """What a device falls to; `capability` is ``12.1`` or ``cpu``."""
    major = capability.split(".", maxsplit=1)[0]
    return next((f for f in _backend_file().fallback if f.device in (capability, major)), None)


def batch_tier(version: str, capability: str, memory_gib: float) -> BatchTier:
    """The batch defaults of a release on a device."""
    release = Version(version)
    return next(
        tier
        for tier in load_file("memory/batch_defaults.toml", _TierFile).tier
        if Version(tier.since) <= release
        and tier.device in ("", capability)
        and (not tier.except_device or tier.except_device != capability)
        and (not tier.min_memory_gib or memory_gib >= tier.min_memory_gib)
    )


class StateFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of the config fields that tell a recurrent layer; "" where there is none.

    Attributes:
        table: nested object that the fields stand in.
        expand: factor of the hidden size that gives the inner channels.
        alone: the model has no other layers.
        everywhere: every layer has attention beside the recurrent state.
    """

    model_types: tuple[str, ...]
    kind: str
    table: str = ""
    heads: str = ""
    head_dim: str = ""
    state: str = ""
    groups: str = ""
    conv: str = ""
    inner: str = ""
    inner_default: str = ""
    expand: str = ""
    ssm_dtype: str = ""
    default_ssm_dtype: str = ""
    attention_head_dim: str = ""
    alone: bool = False
    everywhere: bool = False


class LayoutBook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How configs spell the state of their layers.

    Attributes:
        known: model types whose layers were compared with what vLLM allocates for them.
        encoder_only: model types without a KV cache.
        inward: those that are so where they say ``use_bidirectional_attention``.
        patterned: whose layers are not all alike where the config leaves their pattern out.
        windowed: that have a window where the config does not mention one.
        wide_windows: whose windows do not count the token itself.
        attentions: attention layers in one decoder layer, where there are several.
    """

    source: str
    checked: date
    known: frozenset[str]
    encoder_only: frozenset[str]
    inward: frozenset[str]
    patterned: frozenset[str]
    windowed: frozenset[str]
    wide_windows: frozenset[str]
    attentions: dict[str, int]
    latent: frozenset[str]
    sparse_latent: frozenset[str]
    prefix_all: frozenset[str]
    nemotron: frozenset[str]
    full: frozenset[str]
    sliding: frozenset[str]
    chunked: frozenset[str]
    recurrent: frozenset[str]
    both: frozenset[str]
    stateless: frozenset[str]
    refused: frozenset[str]
    refused_types: frozenset[str]
    default_period: dict[str, int]
    state: tuple[StateFields, ...]

    def fields_of(self, model_type: str) -> StateFields | None:
        """The recurrent fields of a model type."""
        return next((item for item in self.state if model_type in item.model_types), None)


@cache
def layout_book() -> LayoutBook:
    """How configs spell the state of their layers."""
    return load_file("memory/layouts.toml", LayoutBook)


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number from dated reports, with the interval that should hold four cases in five."""

    value: float
    low: float
    high: float
    source: str
    checked: date
    method: Method


class _EstimateFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    estimate: dict[str, Estimate]


@cache
def estimates() -> dict[str, Estimate]:
    """Estimates by name; GiB unless the source says otherwise."""
    found = load_file("memory/estimates.toml", _EstimateFile).estimate
    fields = {"rest_fixed": "fixed_gib", "rest_per_1024_tokens": "per_1024_tokens_gib"}
    return found | {name: _of_boots(field) for name, field in fields.items()}


def _of_boots(field: str) -> Estimate:
    """A part of the fitted line, with its range over the lines that leave one box out."""
    known = calibration()
    value = float(getattr(known.line, field))
    others = [value, *(float(getattr(item.line, field)) for item in known.without)]
    return Estimate(value, min(others), max(others), known.source, known.checked, known.method)


class DeviceMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memory that a device reports."""

    id: str
    total_gib: float
    source: str
    checked: date


class _DeviceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    device: tuple[DeviceMemory, ...]


def device_memory(device_id: str) -> DeviceMemory | None:
    """What a device reports as its memory, where a boot has shown it."""
    found = load_file("memory/devices.toml", _DeviceFile).device
    return next((item for item in found if item.id == device_id), None)
