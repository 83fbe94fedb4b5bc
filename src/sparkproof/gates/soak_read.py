"""From what came back to a record: how the request ended, and what it is good for."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import NamedTuple

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.ab_run import Token
from sparkproof.core.observations.soak_run import Kind, Outcome, SoakPlan, SoakRecord
from sparkproof.core.server_port import Failure, Reply
from sparkproof.formats.openai_answer import Answer, error_message, parse_as
from sparkproof.formats.openai_stream import Usage
from sparkproof.formats.openai_tokens import parse_token_chunk, tokens_of
from sparkproof.formats.text_form import odd_share
from sparkproof.gates.coherence import Sample, faults_of
from sparkproof.gates.soak_mix import Request
from sparkproof.gates.soak_probe import Compared, compare_probe, said_digest
from sparkproof.load.observe import read_stream

_KEPT = 240
_MOST_TOKENS = 1 << 40
_ILLEGAL = re.compile(r"illegal memory access|illegal address", re.IGNORECASE)
_LONGEST_PERIOD = 12
_SHORTEST_LOOP = 24
_ODD_SHARE = 0.05
_LINE = {
    Failure.REFUSED: Outcome.REFUSED,
    Failure.TLS: Outcome.REFUSED,
    Failure.DROPPED: Outcome.TRUNCATED,
    Failure.NOT_HTTP: Outcome.HTTP_ERROR,
    Failure.TOO_LARGE: Outcome.HTTP_ERROR,
}
_DECLINES = frozenset({400, 404, 405, 422, 501})
_FORCED = frozenset({Kind.RAW, Kind.ANSWER, Kind.THINKING})


class Said(NamedTuple):
    """The parts of an answer that matter here."""

    text: str = ""
    token_ids: tuple[int, ...] = ()
    tokens: tuple[Token, ...] = ()
    prompt_tokens: int = -1
    completion_tokens: int = -1
    cached_tokens: int = -1
    ttft_s: float = -1.0
    error: str = ""
    whole: bool = False


def read_reply(
    request: Request,
    reply: Reply,
    at: float,
    plan: SoakPlan,
    sound_alone: Container[str],
    held_alone: Mapping[str, SoakRecord] = MappingProxyType({}),
) -> SoakRecord:
    """One request's record.

    Args:
        at: when it was sent, seconds since the epoch.
        sound_alone: kinds and probes whose answer looked like text when nothing else ran.
        held_alone: the probes that were right then.
    """
    said = _said(reply)
    outcome, detail = _outcome(request, reply, said)
    fault = fault_of(request, said) if outcome is Outcome.OK else ""
    alone = request.n < plan.alone
    if fault and not alone and request.name in sound_alone:
        outcome = Outcome.GARBAGE
    if alone and outcome is Outcome.HTTP_ERROR and reply.status in _DECLINES:
        outcome = Outcome.NOT_TAKEN
    sound = not fault
    question = request.question
    held = bool(re.search(question.holds, said.text)) if question and said.whole else None
    compared = Compared()
    if outcome is Outcome.OK and held is not None and request.name in held_alone and not alone:
        before = held_alone[request.name]
        compared = compare_probe(before, said.text, said.tokens, held=held)
        outcome, fault = compared.outcome, compared.why
    return SoakRecord(
        n=request.n,
        kind=request.kind,
        name=request.name,
        at=round(at, 3),
        seconds=round(reply.ended_s, 6),
        outcome=outcome,
        status=reply.status,
        detail=" ".join((detail or fault).split())[:_KEPT],
        streamed=request.streamed,
        shared=request.shared,
        ttft_s=round(said.ttft_s, 6),
        prompt_tokens=_count(said.prompt_tokens),
        completion_tokens=_count(said.completion_tokens),
        cached_tokens=_count(said.cached_tokens),
        sound=sound,
        held=held,
        tie=compared.tie,
        tokens=said.tokens if alone and held else (),
        said=said_digest(said.text) if alone and held else "",
    )


def _count(told: int) -> int:
    """A number of tokens as a server may tell it; -1 for what is none."""
    return told if 0 <= told < _MOST_TOKENS else -1


def _said(reply: Reply) -> Said:
    if "event-stream" in reply.content_type:
        reading = read_stream(reply)
        return Said(
            text=reading.reasoning + reading.content,
            prompt_tokens=reading.prompt_tokens,
            completion_tokens=reading.completion_tokens,
            cached_tokens=reading.cached_tokens,
            ttft_s=reading.first_token_us / 1e6 if reading.first_token_us >= 0 else -1.0,
            error=reading.error,
            whole=reading.done and not reading.error,
        )
    if reply.status != 200:
        return Said(error=error_message(reply.body) if reply.body else "")
    try:
        answer = parse_as(Answer, reply.body, "answer")
    except FormatError as error:
        return Said(error=error.message)
    choice = answer.choices[0] if answer.choices else None
    message = choice.message if choice else None
    parts = (choice.text if choice else "", *_texts(message))
    return Said(
        text="".join(part or "" for part in parts),
        token_ids=tuple((choice.token_ids if choice else None) or ()),
        tokens=_tokens(reply.body),
        whole=choice is not None,
        error="" if choice else "an answer without choices",
        **_usage(answer.usage),
    )


def _tokens(body: bytes) -> tuple[Token, ...]:
    """Of a completion that comes whole: it has the fields of a chunk."""
    answer = parse_token_chunk(body.decode("utf-8", "replace"))
    return tokens_of(answer.choices[0]) if answer and answer.choices else ()


def _texts(message: object) -> tuple[str | None, ...]:
    names = ("reasoning", "reasoning_content", "content")
    return tuple(getattr(message, name, None) for name in names)


def _usage(usage: Usage | None) -> dict[str, int]:
    if usage is None:
        return {}
    details = usage.prompt_tokens_details
    cached = details.cached_tokens if details else None
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens or 0,
        "cached_tokens": -1 if cached is None else cached,
    }


def _outcome(request: Request, reply: Reply, said: Said) -> tuple[Outcome, str]:
    words = f"{said.error} {reply.detail}".strip()
    if _ILLEGAL.search(words):
        return Outcome.ILLEGAL_ACCESS, words
    if "EngineCore encountered" in words or "EngineDeadError" in words:
        return Outcome.ENGINE_DEAD, words
    if reply.failure in _LINE:
        return _LINE[reply.failure], words
    if reply.failure:
        waited = f"after {reply.ended_s:.0f} s"
        if said.text or said.ttft_s >= 0:
            return Outcome.TIMEOUT, f"not whole {waited}"
        return Outcome.SILENT, f"not one token {waited}"
    if reply.status != 200:
        return Outcome.HTTP_ERROR, f"{reply.status} {words}"
    if said.error and not said.whole:
        kind = Outcome.HTTP_ERROR if "event-stream" in reply.content_type else Outcome.TRUNCATED
        return kind, words
    if not said.whole:
        return Outcome.TRUNCATED, "the stream ended without its last event"
    if request.kind in _FORCED and not said.text and said.completion_tokens <= 0:
        return Outcome.SILENT, "an answer without a token"
    return Outcome.OK, ""


def fault_of(request: Request, said: Said) -> str:
    """Why an answer does not look like text; "" where it does.

    Forced lengths make sound models repeat themselves in the end, so of those only characters that
    no text holds count, and one short piece from the first character to the last.
    """
    if request.question:
        return next(iter(faults_of(Sample(request.question.name, said.text, said.token_ids))), "")
    odd = _odd_share(said.text)
    if odd > _ODD_SHARE:
        return f"{odd:.0%} of its characters belong to no text"
    if piece := loop_of(said.text):
        return f"`{piece}` and nothing else"
    return ""


def loop_of(text: str) -> str:
    """The piece of 12 characters at most that a text is made of; "" for none."""
    if len(text) < _SHORTEST_LOOP or text.isspace():
        return ""
    periods = range(1, _LONGEST_PERIOD + 1)
    return next((text[:p] for p in periods if text[p:] == text[:-p]), "")


def _odd_share(text: str) -> float:
    return 0.0 if text.isascii() and text.isprintable() else odd_share(text)
