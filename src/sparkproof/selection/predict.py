"""Predict the pick of each oracle for each layer class."""

from __future__ import annotations

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import EnvTest, Setting, Tri, evaluate, leaves, render_condition
from sparkproof.core.finding import Confidence
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import Branch, Oracle, Pinned, ReleaseSurface
from sparkproof.core.prediction import How, Outcome, Prediction, Step
from sparkproof.facts.model_traits import NamedAttention, attention_of, own_attention_of
from sparkproof.selection.context import Context
from sparkproof.selection.loaders import ASKS_NO_SCHEME, answers_scheme, pinned_kernels
from sparkproof.selection.release_words import with_release_words
from sparkproof.selection.request import Choices, GateAnswers
from sparkproof.selection.schemes import oracle_of
from sparkproof.selection.settings import head_sizes, kv_cache_dtype, layer_settings, linear_choice
from sparkproof.selection.walk import bypassed, fill, ladder, name_gates, walk

ATTENTION = "attention/backend"
LATENT_ATTENTION = "attention/mla"
PLAIN_LINEAR = "torch"
FELL_BACK = "has no kernel for this layer type"


def attention_oracle(profile: CheckpointProfile) -> str:
    """Id of the oracle that decides for the checkpoint's attention."""
    latent = profile.state is not None and profile.state.latent
    return LATENT_ATTENTION if latent else ATTENTION


def predict(
    surface: ReleaseSurface,
    capability: ComputeCapability,
    layer: LayerFormat,
    *,
    profile: CheckpointProfile,
    choices: Choices = Choices(),  # noqa: B008
    gates: GateAnswers | None = None,
) -> Prediction:
    """The pick for one layer format."""
    if layer.scheme is QuantScheme.UNQUANTIZED and layer.layer_class is not LayerClass.EXPERTS:
        return _plain(layer)
    stated = layer_settings(layer, profile, choices)
    settings = with_release_words(stated, surface, capability, profile)
    context = Context(surface, capability, settings, gates or {}, dict(choices.env))
    return _Predictor(context, layer, choices, profile.quant_method).run(
        oracle_of(layer), str(layer.layer_class)
    )


def predict_attention(
    surface: ReleaseSurface,
    capability: ComputeCapability,
    *,
    profile: CheckpointProfile,
    choices: Choices = Choices(),  # noqa: B008
    gates: GateAnswers | None = None,
) -> Prediction:
    """The attention backend of layers with the largest heads, unless `choices` names a size."""
    layer = LayerFormat(LayerClass.ATTENTION, QuantScheme.UNQUANTIZED)
    own = own_attention_of(profile.architectures)
    if own:
        return _not_asked(layer, own, f"kv-cache {kv_cache_dtype(profile, choices)}")
    named = _named_attention(surface, capability, profile, choices)
    if named is not None:
        choices = msgspec.structs.replace(choices, attention_backend=named.backend)
    settings = layer_settings(layer, profile, choices)
    context = Context(surface, capability, settings, gates or {}, dict(choices.env))
    why = named.why if named is not None else ""
    prediction = _Predictor(context, layer, choices, profile.quant_method, named=why).run(
        attention_oracle(profile), "attention-backend"
    )
    kv = str(settings["kv_cache_dtype"])
    return _with_scheme(prediction, f"kv-cache {kv}")


def predict_attentions(
    surface: ReleaseSurface,
    capability: ComputeCapability,
    *,
    profile: CheckpointProfile,
    choices: Choices = Choices(),  # noqa: B008
    gates: GateAnswers | None = None,
    draft: bool = False,
) -> tuple[tuple[str, Prediction], ...]:
    """The backends of all attention layers: vLLM asks for each with the size of its heads.

    Returns:
        Each pick and each refusal once, with the layers that it is of in words ("" for all).
    """
    found: dict[tuple[str, str, str], tuple[list[int], Prediction]] = {}
    for size in head_sizes(profile, draft=draft) or (0,):
        asked = choices
        if size:
            settings = {"head_size": size, **choices.settings}
            asked = msgspec.structs.replace(choices, settings=settings)
        item = predict_attention(surface, capability, profile=profile, choices=asked, gates=gates)
        unpicked = "" if item.selected or item.error else item.reason
        found.setdefault((item.selected, item.error, unpicked), ([], item))[0].append(size)
    several = len(found) > 1
    return tuple(
        (f"heads of {' and '.join(map(str, sizes))}" if several else "", item)
        for sizes, item in found.values()
    )


def _not_asked(layer: LayerFormat, why: str, scheme: str) -> Prediction:
    return Prediction(
        subject="attention-backend",
        scheme=scheme,
        oracle="",
        steps=(),
        selected="",
        how=How.NONE,
        reason=f"can't be predicted: {why}",
        confidence=Confidence.INFERRED,
        evidence=layer.evidence,
    )


def _named_attention(
    surface: ReleaseSurface,
    capability: ComputeCapability,
    profile: CheckpointProfile,
    choices: Choices,
) -> NamedAttention | None:
    """What the model's own configuration puts where no flag names a backend."""
    if choices.attention_backend.lower() not in ("", "auto") or profile.state is None:
        return None
    heads = head_sizes(profile)
    return attention_of(profile.architectures, surface.version, capability.major, heads)


def _with_scheme(prediction: Prediction, scheme: str) -> Prediction:
    fields = {name: getattr(prediction, name) for name in prediction.__struct_fields__}
    return Prediction(**{**fields, "scheme": scheme})


def _plain(layer: LayerFormat) -> Prediction:
    step = Step(PLAIN_LINEAR, Outcome.TAKEN, "unquantized linear layers go to torch (cuBLAS)")
    return Prediction(
        subject=str(layer.layer_class),
        scheme=str(layer.scheme),
        oracle="",
        steps=(step,),
        selected=PLAIN_LINEAR,
        how=How.SCHEME,
        reason="no quantization, so no kernel is selected: torch's own matrix product",
        confidence=Confidence.INFERRED,
        evidence=layer.evidence,
    )


class _Predictor:
    def __init__(
        self,
        context: Context,
        layer: LayerFormat,
        choices: Choices,
        quant_method: str,
        *,
        named: str = "",
    ) -> None:
        """`named`: why a backend is named though no flag names one."""
        self._named = named
        self.quant_method = quant_method
        self.context = context
        self.layer = layer
        self.choices = choices

    def run(self, oracle_id: str, subject: str) -> Prediction:
        oracle = self.context.surface.oracle(oracle_id) if oracle_id else None
        if oracle is None or not oracle.branches:
            return self._unreadable(oracle_id, subject, oracle)
        pinned = self._pinned(oracle)
        if pinned is not None:
            return self._by_loader(oracle, subject, pinned)
        if not answers_scheme(oracle, self.layer.scheme):
            return self._result(oracle, subject, f"can't be predicted: {ASKS_NO_SCHEME}")
        complaint = self._refused_flag(oracle)
        if complaint:
            return self._result(oracle, subject, complaint, error=complaint)
        self._fix_arguments(oracle)
        for path, value in oracle.assumed:
            if path in self.context.settings and self.context.settings[path] != value:
                why = f"{oracle.id} was read for {path} = {value} only"
                return self._result(oracle, subject, f"can't be predicted: {why}")
        return self._decide(oracle, subject)

    def _fix_arguments(self, oracle: Oracle) -> None:
        """Take the arguments that the loader of this method passes, else the defaults."""
        settings = self.context.settings
        for caller in oracle.callers:
            if self.quant_method.startswith(caller.quant_method):
                for name, value in caller.arguments:
                    settings.setdefault(name, value)
                break
        for name, value in oracle.arguments:
            settings.setdefault(name, value)

    def _pinned(self, oracle: Oracle) -> Pinned | None:
        named = pinned_kernels(self.context.surface, oracle, self.layer.scheme)
        mine = (item for item in named if self.quant_method.startswith(item.quant_method))
        return next(mine, None)

    def _by_loader(self, oracle: Oracle, subject: str, pinned: Pinned) -> Prediction:
        why = f"{pinned.source.symbol} names its kernel itself"
        taken = Step(
            backend=pinned.implementation,
            outcome=Outcome.TAKEN,
            reason=why,
            implementation=pinned.implementation,
            evidence=(pinned.source.evidence("kernel of the loader"),),
        )
        rest = bypassed(oracle, {taken.backend}, f"never asked: {why}")
        steps = (taken, *rest)
        return self._result(oracle, subject, why, steps=steps, taken=taken, how=How.SCHEME)

    def _unreadable(self, oracle_id: str, subject: str, oracle: Oracle | None) -> Prediction:
        unknowns = oracle.unknowns if oracle is not None else self.context.surface.unknowns
        topic = f"select/{oracle_id}"
        unknown = next((item for item in unknowns if item.topic == topic), None)
        why = f"{unknown.where}: {unknown.why}" if unknown else "no oracle is known for this scheme"
        return Prediction(
            subject=subject,
            scheme=str(self.layer.scheme),
            oracle=oracle_id,
            steps=(),
            selected="",
            how=How.NONE,
            reason=f"can't be predicted: {why}",
            confidence=Confidence.INFERRED,
            evidence=self.layer.evidence,
        )

    def _flag_value(self, oracle: Oracle) -> str:
        values = {
            "--moe-backend": self.choices.moe_backend,
            "--linear-backend": linear_choice(self.layer, self.choices),
            "--attention-backend": self.choices.attention_backend or "auto",
        }
        return values.get(oracle.flag, "auto")

    def _refused_flag(self, oracle: Oracle) -> str:
        """What is wrong with the flag's value in this release, "" if nothing."""
        value = self._flag_value(oracle)
        if value.lower() == "auto":
            return ""
        option = self.context.surface.option(oracle.flag)
        if option is None:
            topic = f"option/{oracle.flag}"
            unread = any(item.topic == topic for item in self.context.surface.unknowns)
            return "" if unread else f"this release has no {oracle.flag}"
        names = set(option.choices)
        wanted = value.lower().replace("-", "_") if option.normalises else value
        if oracle.flag == "--attention-backend":
            wanted = value.upper()
        if not option.closed or wanted in names:
            return ""
        choices = ", ".join(option.choices)
        return f"argument {oracle.flag}: invalid choice: '{value}' (choose from {choices})"

    def _decide(self, oracle: Oracle, subject: str) -> Prediction:
        possible: list[tuple[Branch, Tri]] = []
        for branch in oracle.branches:
            answer = evaluate(branch.when, self.context)
            if answer is not Tri.NO:
                possible.append((branch, answer))
            if answer is Tri.YES:
                break
        if not possible:
            return self._result(oracle, subject, "can't be predicted: no way through applies")
        if possible[0][1] is Tri.YES:
            return self._along(oracle, subject, possible[0][0])
        return self._open_branches(oracle, subject, [branch for branch, _ in possible])

    def _open_branches(self, oracle: Oracle, subject: str, branches: list[Branch]) -> Prediction:
        """Which way is taken hangs on something: name it, show where each way leads."""
        results = [self._along(oracle, subject, branch) for branch in branches]
        if len({(item.selected, item.error) for item in results}) == 1 and results[0].selected:
            return results[-1]
        leads = tuple(
            Step(
                backend=result.selected or "none",
                outcome=Outcome.UNDECIDED,
                reason=f"if {render_condition(branch.when)}",
                implementation=result.implementation,
                gates=self.context.open_names(branch.when),
                evidence=(branch.source.evidence("way through the selection"),),
            )
            for branch, result in zip(branches, results, strict=True)
        )
        return self._result(oracle, subject, _depends(leads), steps=leads)

    def _along(self, oracle: Oracle, subject: str, branch: Branch) -> Prediction:
        how, why = self._how(oracle, branch)
        if branch.selected:
            return self._forced(oracle, subject, branch, how, why)
        beyond = oracle.id in (ATTENTION, LATENT_ATTENTION)
        steps = walk(branch, self.context, beyond=beyond)
        if how is not How.AUTO:
            steps = (*steps, *bypassed(oracle, {step.backend for step in steps}, why))
        taken = next((step for step in steps if step.outcome is Outcome.TAKEN), None)
        if taken is not None:
            reason = why if how is not How.AUTO else f"first candidate that accepts ({why})"
            return self._result(oracle, subject, reason, steps=steps, taken=taken, how=how)
        if any(step.outcome is Outcome.UNDECIDED for step in steps):
            return self._result(oracle, subject, _depends(steps), steps=steps)
        error = self._error(oracle, branch, steps)
        reason = "no candidate is left" if branch.attempts else f"refused: {why}"
        return self._result(oracle, subject, reason, steps=steps, error=error, branch=branch)

    def _error(self, oracle: Oracle, branch: Branch, steps: tuple[Step, ...]) -> str:
        """What the release raises, with the refusals' reasons where it quotes them."""
        refused = [(s.backend, s.reason) for s in steps if s.outcome is Outcome.REFUSED]
        return fill(branch.error, self.context, refused, self._flag_value(oracle))

    def _forced(
        self, oracle: Oracle, subject: str, branch: Branch, how: How, why: str
    ) -> Prediction:
        classes = {item.backend: item.implementations[0] for item in oracle.dispatch}
        name = branch.implementation or classes.get(branch.selected, branch.selected)
        place = (branch.source.evidence("returned without a walk"),)
        taken = Step(branch.selected, Outcome.TAKEN, why, implementation=name, evidence=place)
        if how is How.AUTO:
            steps = ladder(oracle, taken, self.context)
        else:
            rest = bypassed(oracle, {branch.selected}, f"never asked: {why}")
            steps = (taken, *rest)
        return self._result(oracle, subject, why, steps=steps, taken=taken, how=how, branch=branch)

    def _how(self, oracle: Oracle, branch: Branch) -> tuple[How, str]:
        """Why this way is taken, from what stands in its condition."""
        asked = [leaf for leaf in leaves(branch.when) if self.context.leaf(leaf) is Tri.YES]
        for leaf in asked:
            if isinstance(leaf, EnvTest) and leaf.name in self.context.env:
                return How.FLAG, f"{leaf.name} is in effect"
        value = self._flag_value(oracle)
        if value.lower() != "auto":
            if self._falls_back(oracle, branch, value):
                return How.AUTO, f"{oracle.flag} {value} {FELL_BACK}"
            if self._named:
                return How.SCHEME, self._named
            return How.FLAG, f"{oracle.flag} {value}"
        for leaf in asked:
            if isinstance(leaf, Setting) and leaf.path == "use_a16" and branch.selected:
                return How.SCHEME, "4-bit weights with 16-bit activations are pinned to one kernel"
        return How.AUTO, "automatic order"

    def _falls_back(self, oracle: Oracle, branch: Branch, value: str) -> bool:
        """Whether the flag's value means nothing here and the release goes on without it."""
        if not oracle.cli or not branch.attempts:
            return False
        name = value.lower().replace("-", "_")
        wanted = {target for item in oracle.cli if item.name == name for target in item.targets}
        return not any(
            attempt.implementation in wanted or attempt.backend in wanted
            for attempt in branch.attempts
        )

    def _result(
        self,
        oracle: Oracle,
        subject: str,
        reason: str,
        *,
        steps: tuple[Step, ...] = (),
        taken: Step | None = None,
        how: How = How.NONE,
        error: str = "",
        branch: Branch | None = None,
    ) -> Prediction:
        source = branch.source if branch is not None else oracle.source
        return Prediction(
            subject=subject,
            scheme=str(self.layer.scheme),
            oracle=oracle.id,
            steps=steps,
            selected=taken.backend if taken is not None else "",
            how=how,
            reason=reason,
            confidence=self.context.confidence(),
            implementation=taken.implementation if taken is not None else "",
            error=error,
            evidence=(*self.layer.evidence, source.evidence(oracle.source.symbol)),
        )


def _depends(steps: tuple[Step, ...]) -> str:
    gates = dict.fromkeys(name for step in steps for name in step.gates)
    return name_gates(tuple(gates))
