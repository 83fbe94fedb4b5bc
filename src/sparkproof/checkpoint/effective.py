"""What one vLLM release makes of a declaration."""

from __future__ import annotations

import msgspec
from packaging.version import InvalidVersion, Version

from sparkproof.core.errors import UsageError
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import (
    Activations,
    CheckpointProfile,
    LayerFormat,
    QuantScheme,
)
from sparkproof.facts.loader_rules import LoaderRule, loader_rules

_LAST_MICRO = 9999


class EffectiveFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a profile, as declared and as a release reads it.

    Attributes:
        rule: id of the loader rule that makes the difference ("" for none).
        refusal: what happens instead of serving ("" where the release serves).
        doubt: why it can't be told what a development version does ("" where it can).
    """

    declared: LayerFormat
    effective: LayerFormat
    rule: str = ""
    refusal: str = ""
    doubt: str = ""

    @property
    def differs(self) -> bool:
        """The release runs another scheme than was declared."""
        return self.declared.scheme is not self.effective.scheme


def effective_formats(profile: CheckpointProfile, vllm_version: str) -> tuple[EffectiveFormat, ...]:
    """Every format of a profile as one release reads it, in the profile's order.

    A development version is held against both releases around it; where they differ its
    scheme is `QuantScheme.UNKNOWN` and `doubt` says so.

    Args:
        profile: what is declared.
        vllm_version: e.g. ``0.33.0``.

    Raises:
        UsageError: no PEP 440 version.
    """
    try:
        version = Version(vllm_version)
    except InvalidVersion as error:
        raise UsageError(
            f"`{vllm_version[:80]}` is no version of vLLM",
            hint="e.g. 0.33.0, as METADATA states it",
        ) from error
    base = Version(version.base_version)
    after = _read_by(profile, base)
    if not version.is_prerelease:
        return after
    before = _read_by(profile, _just_before(base))
    return tuple(
        one if one == other else _doubted(one, vllm_version)
        for one, other in zip(before, after, strict=True)
    )


def _just_before(base: Version) -> Version:
    if base.micro:
        return Version(f"{base.major}.{base.minor}.{base.micro - 1}")
    return Version(f"{base.major}.{max(base.minor - 1, 0)}.{_LAST_MICRO}")


def _doubted(item: EffectiveFormat, version: str) -> EffectiveFormat:
    return EffectiveFormat(
        item.declared,
        msgspec.structs.replace(
            item.declared, scheme=QuantScheme.UNKNOWN, activations=Activations.UNKNOWN
        ),
        item.rule,
        doubt=f"{version} lies between releases that read this differently",
    )


def _read_by(profile: CheckpointProfile, version: Version) -> tuple[EffectiveFormat, ...]:
    rules = [rule for rule in loader_rules() if rule.covers(version)]
    return tuple(_apply(profile, item, rules) for item in profile.formats)


def _apply(
    profile: CheckpointProfile, item: LayerFormat, rules: list[LoaderRule]
) -> EffectiveFormat:
    rule = next((rule for rule in rules if rule.applies(profile, item)), None)
    if rule is None:
        return EffectiveFormat(item, item)
    effective = item
    if rule.becomes is not None:
        effective = msgspec.structs.replace(
            item,
            scheme=rule.becomes,
            activations=rule.activations,
            evidence=(*item.evidence, Evidence(rule.source, rule.title)),
        )
    return EffectiveFormat(item, effective, rule.id, rule.refusal)
