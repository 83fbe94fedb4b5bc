"""From the pieces of an answer and their moments to what they say. Parsing waits until the
answer is whole, so that the moments are those of arrival and not of our own work."""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.exchange import Exchange, StreamReading
from sparkproof.core.server_port import Ask, Reply
from sparkproof.formats.openai_answer import hidden_error
from sparkproof.formats.openai_stream import DONE, Chunk, Usage, error_text, parse_chunk
from sparkproof.formats.sse import SseReader

KEPT_BYTES = 64 << 10
_US = 1_000_000
_MOST_TOKENS = 1 << 40


def observe(ask: Ask, reply: Reply, *, kept_bytes: int = KEPT_BYTES) -> Exchange:
    """What is kept of one request."""
    body = reply.body
    stream = "event-stream" in reply.content_type
    return Exchange(
        label=ask.label,
        method=ask.method,
        path=ask.path,
        request=ask.body[:kept_bytes].decode("utf-8", "replace"),
        status=reply.status,
        failure=reply.failure,
        detail=reply.detail,
        content_type=reply.content_type,
        body=body[:kept_bytes].decode("utf-8", "replace"),
        body_bytes=len(body),
        seconds=round(reply.ended_s, 6),
        stream=read_stream(reply) if stream else None,
        error="" if stream or not reply.ok else hidden_error(body),
    )


def read_stream(reply: Reply) -> StreamReading:
    """Read an event stream; a damaged one is read as far as it goes."""
    marks = _Marks()
    reader = SseReader()
    try:
        for moment, piece in reply.pieces:
            if events := reader.feed(piece):
                at = round(moment * _US)
                for event in events:
                    marks.take(event.data, at)
        for event in reader.finish():
            marks.take(event.data, round(reply.ended_s * _US))
    except FormatError as error:
        marks.error = error.message
    first = round(reply.pieces[0][0] * _US) if reply.pieces else -1
    return marks.reading(first, round(reply.ended_s * _US))


class _Marks:
    """Collects while the events go by."""

    def __init__(self) -> None:
        self.error = ""
        self._first: dict[str, int] = {}
        self._arrivals: list[int] = []
        self._tokens: list[int] = []
        self._counted = 0
        self._usage: Usage | None = None
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls = 0
        self._arguments: dict[int, list[str]] = {}
        self._finish = ""
        self._events = 0
        self._invalid = 0
        self._done = False

    def take(self, data: str, at: int) -> None:
        """One event's text."""
        if data == DONE:
            self._done = True
            return
        self._first.setdefault("event", at)
        self._events += 1
        chunk = parse_chunk(data)
        if chunk is None:
            self._invalid += 1
            return
        if chunk.error is not None:
            self.error = error_text(chunk.error)
        carried = self._texts(chunk, at)
        new = self._count(chunk)
        if new > 0 or carried:
            self._first.setdefault("token", at)
            self._arrivals.append(at)
            self._tokens.append(new)

    def _count(self, chunk: Chunk) -> int:
        """Tokens that the server's running count has gained."""
        if chunk.usage is None:
            return 0
        self._usage = chunk.usage
        if not chunk.choices:  # the closing usage chunk carries no token of its own
            return 0
        before, self._counted = self._counted, max(0, _told(chunk.usage.completion_tokens))
        return self._counted - before

    def _texts(self, chunk: Chunk, at: int) -> bool:
        carried = False
        for choice in chunk.choices:
            delta = choice.delta
            content = choice.text if delta is None else delta.content
            thinking = (delta.reasoning or delta.reasoning_content) if delta else None
            if content:
                self._content.append(content)
                self._first.setdefault("content", at)
            if thinking:
                self._reasoning.append(thinking)
                self._first.setdefault("reasoning", at)
            calls = delta.tool_calls if delta else None
            self._calls += bool(calls)
            for call in calls or ():
                told = call.function.arguments if call.function else None
                self._arguments.setdefault(call.index, []).append(told or "")
            carried = carried or bool(content or thinking or calls)
            self._finish = choice.finish_reason or self._finish
        return carried

    def reading(self, first_byte_us: int, ended_us: int) -> StreamReading:
        """What was collected."""
        usage = self._usage
        counted = self._counted > 0 and sum(self._tokens) == self._counted
        details = usage.completion_tokens_details if usage else None
        prompt = usage.prompt_tokens_details if usage else None
        return StreamReading(
            first_byte_us=first_byte_us,
            first_event_us=self._first.get("event", -1),
            first_token_us=self._first.get("token", -1),
            first_reasoning_us=self._first.get("reasoning", -1),
            first_content_us=self._first.get("content", -1),
            ended_us=ended_us,
            arrivals_us=tuple(self._arrivals),
            tokens=tuple(self._tokens) if counted else (),
            prompt_tokens=_told(usage.prompt_tokens if usage else None),
            completion_tokens=-1 if not usage else _told(usage.completion_tokens or 0),
            reasoning_tokens=_told(details.reasoning_tokens if details else None),
            cached_tokens=_told(prompt.cached_tokens if prompt else None),
            content="".join(self._content),
            reasoning="".join(self._reasoning),
            tool_calls=self._calls,
            finish_reason=self._finish,
            events=self._events,
            invalid=self._invalid,
            done=self._done,
            error=self.error,
            arguments=tuple("".join(parts) for _, parts in sorted(self._arguments.items())),
        )


def _told(value: int | None) -> int:
    """A number of tokens; -1 for none, and for what can be none (no record holds any integer)."""
    return value if value is not None and 0 <= value < _MOST_TOKENS else -1


def without_text(reading: StreamReading) -> StreamReading:
    """The reading without what was said: what a load run keeps of a sound request."""
    return msgspec.structs.replace(reading, content="", reasoning="", arguments=())
