"""Which phrases the reader must look for, so that the signatures can be judged."""

from __future__ import annotations

from collections.abc import Iterable

from sparkproof.facts.log_schema import Phrase, Signature
from sparkproof.formats.vllm_log.phrases import Probe


def signature_probes(signatures: Iterable[Signature]) -> tuple[Probe, ...]:
    """Every phrase of every signature, once; a probe's id is the phrase itself."""
    found: dict[str, Probe] = {}
    for signature in signatures:
        phrases = [phrase for clause in signature.clauses for phrase in clause.any]
        for phrase in (*phrases, *signature.unless):
            found.setdefault(probe_id(phrase), Probe(probe_id(phrase), phrase))
    return tuple(found.values())


def probe_id(phrase: Phrase) -> str:
    """A name for a phrase that equal phrases share."""
    return f"{phrase.has}\n{phrase.match}"
