"""Walking the oracle of one release for one device, layer class by layer class."""

from sparkproof.selection.gates import gates_needed, settle_gates
from sparkproof.selection.predict import predict, predict_attention
from sparkproof.selection.request import Choices, GateAnswer, GateAnswers
from sparkproof.selection.schemes import oracle_of

__all__ = [
    "Choices",
    "GateAnswer",
    "GateAnswers",
    "gates_needed",
    "oracle_of",
    "predict",
    "predict_attention",
    "settle_gates",
]
