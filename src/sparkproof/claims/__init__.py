"""Claims that check themselves again: a probe against what an artifact holds."""

from sparkproof.claims.answer import answer_claim, answer_probe
from sparkproof.claims.material import Material

__all__ = ["Material", "answer_claim", "answer_probe"]
