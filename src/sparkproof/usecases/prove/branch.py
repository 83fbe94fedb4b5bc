"""One proof under one set of assumptions: select, then deliver, layer class by layer class.

Pure: everything that had to be read has been read before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sparkproof.checkpoint.effective import EffectiveFormat
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.condition import Tri
from sparkproof.core.delivery import FamilyRoute
from sparkproof.core.deployment import Box
from sparkproof.core.finding import Confidence
from sparkproof.core.observations.checkpoint_profile import (
    CheckpointProfile,
    LayerClass,
    LayerFormat,
    QuantScheme,
)
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.prediction import Prediction
from sparkproof.core.results.proof import Branch, Delivery, LayerProof
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Verdict, fold
from sparkproof.devicecode.delivery import judge_need
from sparkproof.facts.backend import BackendNeeds, backends
from sparkproof.facts.gate_operators import GateOperator, gate_operators
from sparkproof.selection.gates import settle_gates
from sparkproof.selection.predict import predict, predict_attentions
from sparkproof.selection.request import Choices, GateAnswer
from sparkproof.usecases.prove.guesses import (
    check_guess,
    doubt_attention,
    doubt_layer,
    has_attention,
)
from sparkproof.usecases.prove.roles import (
    ATTENTION_KERNEL,
    check_architecture,
    check_kv_cache,
    check_overrides,
    draft_questions,
    why_not_loaded,
)
from sparkproof.usecases.quantization_flag import (
    check_quantization,
    check_quantization_flag,
    quantized_while_loading,
)

TOOLS = ("nvcc", "ninja")
EVERY_MODEL = "model/every"
LINEAR_ATTENTION = "model/linear-attention"
VISION_ATTENTION = "model/vision-attention"
PLAIN_LINEAR = "model/unquantized-linear"
_KEPT_WHILE_LOADING = (LayerClass.EMBEDDING, LayerClass.LM_HEAD)
RECURRENT_KERNEL = "recurrent-kernel"
VISION_KERNEL = "vision-kernel"


class Look(msgspec.Struct, frozen=True):
    """All that was seen of one deployment.

    Attributes:
        complete: all of the artifact's device code could be read.
        toolkit: CUDA toolkit that built it ("" if not told).
        code_read: there was an artifact to read; else what it delivers stays unknown, and `routes`
            holds no more than what is assumed.
    """

    capability: ComputeCapability
    surface: ReleaseSurface
    routes: Mapping[str, FamilyRoute]
    complete: bool
    profile: CheckpointProfile
    effective: tuple[EffectiveFormat, ...]
    env: dict[str, str]
    toolkit: str = ""
    code_read: bool = True
    gates: tuple[str, ...] | None = None


def prove_branch(
    look: Look, box: Box, arguments: SelectionArgs, assumptions: dict[str, str]
) -> Branch:
    """Walk every oracle that the checkpoint needs and judge what it picks."""
    layers = tuple(_Prover(look, box, arguments).run())
    verdict = fold(layer.verdict for layer in layers)
    return Branch(assumptions, verdict, layers)


def choices_of(arguments: SelectionArgs, env: dict[str, str]) -> Choices:
    """What the flags and the environment say, as selection asks for it."""
    shared = {
        name: getattr(arguments, name)
        for name in arguments.__struct_fields__
        if name in Choices.__struct_fields__
    }
    return Choices(**shared, env=env)


def answer_gates(look: Look, box: Box) -> dict[str, GateAnswer]:
    """What metadata, the stated box and the artifact's own device code can answer."""
    answers = settle_gates(look.surface, box, look.gates)
    for operator in gate_operators().of(look.surface.version):
        answers[f"op:{operator.name}"] = _operator_answer(operator, look)
    return answers


def _operator_answer(operator: GateOperator, look: Look) -> GateAnswer:
    if not operator.in_range(look.capability):
        reason = f"{operator.name} says yes for {operator.range}"
        return GateAnswer(Tri.NO, reason, Confidence.INFERRED)
    if not operator.family:
        reason = f"{operator.name} says yes for {operator.range}, whatever was compiled"
        return GateAnswer(Tri.YES, reason, Confidence.INFERRED)
    if not look.code_read:
        reason = f"{operator.family} kernels are taken as compiled in, as in the index's wheels"
        return GateAnswer(Tri.YES, reason, Confidence.INFERRED)
    family = look.routes.get(operator.family)
    if family is None and not look.complete:
        return GateAnswer(
            Tri.UNKNOWN, "not all of the device code could be read", Confidence.INFERRED
        )
    compiled = family is not None and family.promised
    word = "are" if compiled else "are not"
    reason = f"{operator.family} kernels {word} compiled in for {look.capability.major}.x"
    evidence = family.evidence[:1] if family is not None else ()
    return GateAnswer(Tri.of(compiled), reason, Confidence.INFERRED, evidence)


class _Prover:
    def __init__(self, look: Look, box: Box, arguments: SelectionArgs) -> None:
        self._look = look
        self._box = box
        self._arguments = arguments
        self._choices = choices_of(arguments, look.env)
        self._gates = answer_gates(look, box)
        wanted = arguments.quantization
        self._loaded_as = quantized_while_loading(wanted, look.profile, look.surface)

    def run(self) -> Iterator[LayerProof]:
        yield from check_architecture(self._look.profile, self._look.surface, self._arguments)
        yield from check_overrides(self._arguments)
        yield from check_quantization(self._look.profile, self._look.surface)
        yield from check_quantization_flag(
            self._arguments.quantization, self._look.profile, self._look.surface
        )
        yield from check_kv_cache(self._arguments, self._look.surface)
        layers = [self._layer(item) for item in self._look.effective]
        yield from layers
        yield from check_guess(self._look.profile, layers)
        if has_attention(self._look.profile):
            yield from self._attention(ATTENTION_KERNEL, self._choices)
        yield from self._draft()
        classes = {item.effective.layer_class for item in self._look.effective}
        if LayerClass.LINEAR_ATTENTION in classes:
            yield self._always(RECURRENT_KERNEL, LINEAR_ATTENTION)
        if LayerClass.VISION in classes and not self._arguments.text_only:
            yield self._always(VISION_KERNEL, VISION_ATTENTION)
        yield self._always("every-model", EVERY_MODEL)

    def _layer(self, item: EffectiveFormat) -> LayerProof:
        layer = item.effective
        if item.refusal:
            return _without(layer, Verdict.FAIL, f"vLLM refuses: {item.refusal}")
        if layer.layer_class is LayerClass.DRAFT:
            unloaded = why_not_loaded(self._look.profile, self._arguments)
            if unloaded:
                return _without(layer, Verdict.SKIPPED, unloaded)
        if layer.layer_class is LayerClass.VISION and self._arguments.text_only:
            return _without(layer, Verdict.SKIPPED, "not loaded with --language-model-only")
        if layer.scheme is QuantScheme.UNKNOWN:
            why = item.doubt or f"its scheme can't be told{_seen(layer)}"
            return _without(layer, Verdict.INCONCLUSIVE, why)
        if self._loaded_as and layer.layer_class not in _KEPT_WHILE_LOADING:
            return _without(layer, Verdict.INCONCLUSIVE, self._loaded_as)
        proof = self._predicted(layer, self._choices)
        return doubt_layer(proof, layer, self._look.profile)

    def _predicted(self, layer: LayerFormat, choices: Choices) -> LayerProof:
        prediction = predict(
            self._look.surface,
            self._look.capability,
            layer,
            profile=self._look.profile,
            choices=choices,
            gates=self._gates,
        )
        plain = layer.scheme is QuantScheme.UNQUANTIZED
        if plain and layer.layer_class is not LayerClass.EXPERTS:
            return self._judge(layer, prediction, PLAIN_LINEAR)
        return self._judge(layer, prediction, prediction.implementation)

    def _attention(
        self, subject: str, choices: Choices, *, draft: bool = False
    ) -> Iterator[LayerProof]:
        for layers, prediction in predict_attentions(
            self._look.surface,
            self._look.capability,
            profile=self._look.profile,
            choices=choices,
            gates=self._gates,
            draft=draft,
        ):
            layer = LayerFormat(LayerClass.ATTENTION, QuantScheme.UNQUANTIZED, layers)
            proof = self._judge(layer, prediction, prediction.implementation)
            told = msgspec.structs.replace(proof, subject=subject, scheme=prediction.scheme)
            yield doubt_attention(told, self._look.profile, self._look.surface)

    def _draft(self) -> Iterator[LayerProof]:
        look = self._look
        questions = draft_questions(
            look.profile, look.effective, look.surface.version, self._arguments, self._choices
        )
        for item in questions:
            if isinstance(item, LayerProof):
                yield item
            elif item.layer is None:
                yield from self._attention(item.subject, item.choices, draft=True)
            else:
                proof = self._predicted(item.layer, item.choices)
                proof = doubt_layer(proof, item.layer, look.profile)
                yield msgspec.structs.replace(proof, subject=item.subject)

    def _always(self, subject: str, backend_id: str) -> LayerProof:
        backend = backends()[backend_id]
        deliveries = self._deliveries(backend, "")
        return _proof_of(subject, "", deliveries, backend, None)

    def _judge(self, layer: LayerFormat, prediction: Prediction, name: str) -> LayerProof:
        subject, scheme = layer.layer_class.value, layer.scheme.value
        if not prediction.selected:
            verdict = Verdict.FAIL if prediction.error else Verdict.INCONCLUSIVE
            return LayerProof(
                subject=subject,
                scheme=scheme,
                verdict=verdict,
                reason=_nothing(prediction),
                deliveries=(),
                prediction=prediction,
                layers=layer.layers,
            )
        backend = backends().get(name)
        if backend is None:
            return LayerProof(
                subject=subject,
                scheme=scheme,
                verdict=Verdict.INCONCLUSIVE,
                reason=f"what {name or prediction.selected} needs is not known to this version",
                deliveries=(),
                prediction=prediction,
                layers=layer.layers,
                backend=prediction.selected,
            )
        deliveries = self._deliveries(backend, scheme)
        proof = _proof_of(subject, scheme, deliveries, backend, prediction)
        return msgspec.structs.replace(proof, layers=layer.layers)

    def _deliveries(self, backend: BackendNeeds, scheme: str) -> tuple[Delivery, ...]:
        routes = self._look.routes if self._look.code_read else None
        return tuple(
            judge_need(need, routes, self._box, complete=self._look.complete)
            for need in backend.needs
            if need.applies(
                scheme,
                self._look.capability,
                self._look.surface.version,
                self._look.profile.state,
            )
        )


def _without(layer: LayerFormat, verdict: Verdict, reason: str) -> LayerProof:
    return LayerProof(
        subject=layer.layer_class.value,
        scheme=layer.scheme.value,
        verdict=verdict,
        reason=reason,
        deliveries=(),
        layers=layer.layers,
    )


def _seen(layer: LayerFormat) -> str:
    """What was not understood, with a colon before it; "" where nothing tells."""
    what = next((item.what for item in layer.evidence if item.what), layer.detail)
    return f": {what}" if what else ""


def _nothing(prediction: Prediction) -> str:
    if prediction.error:
        return f"vLLM refuses: {prediction.error.partition(' (choose from')[0]}"
    return prediction.reason


def _proof_of(
    subject: str,
    scheme: str,
    deliveries: Sequence[Delivery],
    backend: BackendNeeds,
    prediction: Prediction | None,
) -> LayerProof:
    verdict = fold(item.verdict for item in deliveries)
    decisive = [item for item in deliveries if item.verdict is verdict]
    noted = [item for item in deliveries if item.warning]
    shown = decisive if verdict is not Verdict.PASS else (noted or decisive)
    return LayerProof(
        subject=subject,
        scheme=scheme,
        verdict=verdict,
        reason="; ".join(f"{item.what}: {item.reason}" for item in shown[:2]),
        deliveries=tuple(deliveries),
        prediction=prediction,
        backend=backend.title,
        speed=backend.speed_for(scheme).value,
        warning=bool(noted),
    )
