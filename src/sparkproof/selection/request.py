"""What a prediction is asked about: the layer, the user's choices, and settled gates."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sparkproof.core.condition import Tri
from sparkproof.core.finding import Confidence, Evidence


class GateAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What someone who knows says about a gate."""

    answer: Tri
    reason: str = ""
    confidence: Confidence = Confidence.SHOWN
    evidence: tuple[Evidence, ...] = ()


GateAnswers = Mapping[str, GateAnswer]


class Choices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the deployment's flags and environment say about selection.

    Attributes:
        linear_backend_per_quant: overrides by kind, e.g. ``nvfp4_w4a4`` (0.30.0 and later).
        attention_backend: "" for automatic.
        block_size: tokens of a KV block as a flag states them, 0 for none.
        settings: further answers by setting path, for what no flag says.
    """

    moe_backend: str = "auto"
    linear_backend: str = "auto"
    linear_backend_per_quant: dict[str, str] = {}
    attention_backend: str = ""
    block_size: int = 0
    kv_cache_dtype: str = "auto"
    quantization: str = ""
    env: dict[str, str] = {}
    tensor_parallel: int = 1
    expert_parallel: bool = False
    lora: bool = False
    text_model_type: str = ""
    settings: dict[str, str | int | float | bool | None] = {}
