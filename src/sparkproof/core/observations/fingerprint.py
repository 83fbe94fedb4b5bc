"""A checkpoint's fingerprint as a server shows it: log-probabilities of fixed prompts."""

from __future__ import annotations

import msgspec


class PromptTrace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fixed prompt: its token ids from the second on, and what the model gave each of them.

    Attributes:
        nats: log-probabilities, rounded to a ten-thousandth.
    """

    name: str
    ids: tuple[int, ...]
    nats: tuple[float, ...]


class Fingerprint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them; `set_name` changes whenever the prompts do."""

    set_name: str
    traces: tuple[PromptTrace, ...] = ()


class FingerprintChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far two fingerprints lie apart.

    Attributes:
        same_tokens: both tokenizers cut the prompts alike; else nothing can be compared.
        mean_nats, worst_nats: of the absolute differences, over the tokens of all prompts.
        bias_nats: of the signed ones: above 0 the newer one finds the texts likelier.
    """

    same_tokens: bool
    tokens: int = 0
    mean_nats: float = 0.0
    worst_nats: float = 0.0
    bias_nats: float = 0.0
