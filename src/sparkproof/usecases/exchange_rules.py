"""Which rule the answer of one exchange breaks, streamed or whole."""

from __future__ import annotations

from typing import Any

import msgspec

from sparkproof.bootlog.response import Answer, parse_answers
from sparkproof.bootlog.response_rules import judge_answer
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.exchange import Exchange
from sparkproof.load.ask import CHAT


class _Asked(msgspec.Struct):
    """What of a request tells how its answer is to be read."""

    tools: list[msgspec.Raw] | None = None
    ignore_eos: bool | None = None


def answer_rule(exchange: Exchange) -> str:
    """The rule that an answer breaks, "" for a sound one or none at all."""
    if exchange.stream is not None:
        return _streamed_rule(exchange)
    if exchange.failure or not exchange.body:
        return ""
    try:
        answer = parse_answers(exchange.body.encode(), exchange.label)[0]
    except FormatError:
        return "response/unclear"
    return judge_answer(
        msgspec.structs.replace(answer, status=exchange.status, **_asked_of(exchange))
    )


def _streamed_rule(exchange: Exchange) -> str:
    stream = exchange.stream
    if stream is None or (exchange.failure and not stream.error):
        return ""
    return judge_answer(
        Answer(
            status=exchange.status,
            error=stream.error,
            content=stream.content or None,
            reasoning=stream.reasoning or None,
            reasoning_field="reasoning" if stream.reasoning else "",
            tool_calls=stream.tool_calls,
            finish_reason=stream.finish_reason,
            chat=exchange.path == CHAT,
            arguments=stream.arguments,
            **_asked_of(exchange),
        )
    )


def _asked_of(exchange: Exchange) -> dict[str, Any]:
    try:
        asked = msgspec.json.decode(exchange.request, type=_Asked)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {"asked_tools": bool(asked.tools), "forced": asked.ignore_eos is True}
