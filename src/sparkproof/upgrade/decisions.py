"""What a release decides by itself for a deployment: its own rules, put to its flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import (
    EnvTest,
    Leaf,
    Opaque,
    Scalar,
    Setting,
    Tri,
    compare,
    evaluate,
)
from sparkproof.core.observations.release_parts import ConfigRule
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.upgrade.arguments import Given, flatten, lookup
from sparkproof.upgrade.view import Case, Model

RUNNER = "model-runner-v2/default"
ASYNC, FORCED = "async-scheduling/default", "async-scheduling/forced"
_UNSUPPORTED, _ARCHITECTURES = "model-runner-v2/unsupported", "model-runner-v2/architectures"
_V2 = "use_v2_model_runner"
_SPECULATIVE = "--speculative-config"
_SHORT = {
    "method": "--spec-method",
    "num_speculative_tokens": "--spec-tokens",
    "model": "--spec-model",
}
_TRUE = ("1", "true", "yes", "on")


class Decider:
    """Answers a release's questions about one deployment; what nobody set has its own default."""

    def __init__(
        self,
        surface: ReleaseSurface,
        model: Model,
        given: Sequence[Given],
        env: dict[str, str],
        capability: ComputeCapability,
    ) -> None:
        self.capability = capability
        self._surface = surface
        self._model = model
        self._given = given
        self._env = env
        self._asked: set[str] = set()

    def outcome(self, rule_id: str) -> str:
        """The way out that the rule takes ("" where it can't be told)."""
        rule = self._rule(rule_id)
        if rule is None:
            return ""
        for case in rule.cases:
            answer = evaluate(case.when, self)
            if answer is Tri.UNKNOWN:
                return ""
            if answer is Tri.YES:
                return self._settled(case.outcome)
        return ""

    def reason(self, rule_id: str) -> str:
        """The wording that goes with the way out."""
        rule = self._rule(rule_id)
        for case in rule.cases if rule is not None else ():
            if evaluate(case.when, self) is Tri.YES:
                return case.reason
        return ""

    def unsupported(self) -> tuple[str, ...]:
        """What keeps the V2 runner away."""
        rule = self._rule(_UNSUPPORTED)
        cases = rule.cases if rule is not None else ()
        return tuple(case.reason for case in cases if evaluate(case.when, self) is Tri.YES)

    def _rule(self, rule_id: str) -> ConfigRule | None:
        return next((item for item in self._surface.rules if item.id == rule_id), None)

    def _settled(self, outcome: str) -> str:
        named = re.fullmatch(r"as (\w+) says", outcome)
        if named is None:
            return outcome
        return "on" if self._env.get(named[1], "0").lower() in _TRUE else "off"

    def leaf(self, item: Leaf) -> Tri:
        """As the deployment says, else as the release's own defaults do."""
        if isinstance(item, Opaque):
            return Tri.NO
        if isinstance(item, EnvTest):
            return self._variable(item)
        if not isinstance(item, Setting):
            return Tri.UNKNOWN
        asked = self._function(item.path)
        if asked is not None:
            return asked
        known, value = self.setting(item.path)
        return Tri.of(compare(value, item.op, item.value)) if known else Tri.UNKNOWN

    def _variable(self, item: EnvTest) -> Tri:
        text = self._env.get(item.name)
        if item.op == "set":
            return Tri.of(text is not None)
        declared = next((e for e in self._surface.env if e.name == item.name), None)
        value: Scalar = declared.default if declared is not None else None
        if text is not None:
            value = text.lower() in _TRUE if isinstance(item.value, bool) else text
        return Tri.of(compare(value, item.op, item.value))

    def _function(self, path: str) -> Tri | None:
        """Questions that are functions of the configuration: rules themselves."""
        if path == _V2:
            return {"on": Tri.YES, "off": Tri.NO}.get(self.outcome(RUNNER), Tri.UNKNOWN)
        if path.startswith("_get_v2_model_runner_unsupported"):
            return Tri.of(bool(self.unsupported()))
        if path.startswith("_is_default_v2_model_runner_model"):
            return {"on": Tri.YES, "off": Tri.NO}.get(self.outcome(_ARCHITECTURES), Tri.UNKNOWN)
        if path in ("HAS_TRITON", "executor_class.supports_async_scheduling()"):
            return Tri.YES
        if path.endswith("()"):
            return Tri.NO
        return None

    def setting(self, path: str) -> tuple[bool, Scalar]:
        """Whether a setting's value is known, and the value."""
        owner, _, name = path.partition(".")
        if owner == "model_config":
            return self._of_model(name) if name else (True, "given")
        if owner == "speculative_config":
            return self._of_speculation(name)
        flag = "--" + (name or owner).replace("_", "-")
        found = lookup(self._given, flag)
        if found is not None:
            return True, _scalar(found)
        inside = lookup(self._given, "--" + owner.replace("_", "-"), *name.split("."))
        if inside is not None:
            return True, _plain(inside.raw)
        return self._default(owner, name)

    def _default(self, owner: str, name: str) -> tuple[bool, Scalar]:
        if not name:
            return True, "given" if lookup(self._given, "--" + owner.replace("_", "-")) else None
        last = name.rsplit(".", 1)[-1]
        parent = f"{owner}.{name}".rsplit(".", 2)[-2]
        config = self._surface.config("".join(part.title() for part in parent.split("_")))
        field = config.field(last) if config is not None else None
        if field is None or field.computed:
            return True, None
        return True, field.default

    def _of_model(self, name: str) -> tuple[bool, Scalar]:
        model = self._model
        runner = lookup(self._given, "--runner")
        pooling = runner is not None and runner.value == "pooling"
        own: dict[str, Scalar] = {"runner_type": "pooling" if pooling else "generate"}
        if model.read:
            own |= {
                "is_hybrid": model.hybrid,
                "has_inner_state": model.hybrid,
                "is_moe": model.moe,
                "is_quantized": bool(model.quant_method),
                "architectures": ",".join(model.architectures),
                "architecture": model.architectures[0] if model.architectures else "",
                "is_attention_free": False,
                "is_diffusion": False,
            }
        elif name in ("is_hybrid", "has_inner_state", "is_moe", "is_quantized", "architectures"):
            return False, None
        if name in own:
            return True, own[name]
        found = lookup(self._given, "--" + name.replace("_", "-"))
        if found is not None:
            return True, _scalar(found)
        return self._default("model_config", name)

    def _of_speculation(self, name: str) -> tuple[bool, Scalar]:
        speculative = speculation(self._given)
        if not name:
            return True, "given" if speculative else None
        if name == "method":
            return True, speculative.get("method")
        if name in speculative:
            return True, _plain(speculative[name])
        return self._default("speculative_config", name)


def speculation(given: Sequence[Given]) -> dict[str, Any]:
    """The speculative configuration, from all the ways to write it; empty for none."""
    found: dict[str, Any] = {}
    for item in given:
        if item.flag == _SPECULATIVE and item.key:
            found[item.key[0]] = item.raw
        elif item.flag == _SPECULATIVE and isinstance(item.raw, dict):
            found |= {part.key[0]: part.raw for part in flatten(item) if len(part.key) == 1}
    for name, flag in _SHORT.items():
        short = lookup(given, flag)
        if short is not None:
            found[name] = short.raw
    if found:
        method = str(found.get("method") or "")
        own_head = method.endswith("_mtp") or (not method and not found.get("model"))
        found["method"] = "mtp" if own_head else method or None
    return found


def decider(case: Case, surface: ReleaseSurface, given: Sequence[Given]) -> Decider:
    """The questions of one release to the case's deployment."""
    return Decider(surface, case.model, given, case.deployment.env, case.capability)


def _scalar(given: Given) -> Scalar:
    if not given.values:
        return not given.typed.startswith(("--no-", "--disable-"))
    return _plain(given.raw)


def _plain(value: Any) -> Scalar:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
