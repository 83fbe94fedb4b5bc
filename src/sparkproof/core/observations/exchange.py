"""What one request to a server looked like from outside."""

from __future__ import annotations

import msgspec

from sparkproof.core.server_port import Failure


class StreamReading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A streamed answer, event by event. Times are microseconds since the request was sent.

    Attributes:
        first_byte_us: of the answer's body; -1 like every other mark that never came.
        first_event_us: the first event, which may be a bare role and is no token.
        first_token_us: the first event that carried a token.
        first_reasoning_us, first_content_us: the first text of thinking, of the answer.
        arrivals_us: every event that carried tokens.
        tokens: tokens in each of them by the server's running count; empty where it gives none.
        completion_tokens: the server's count at the end; -1 where it gave none.
        invalid: events that were no chunk.
        done: the stream ended as it should.
        error: what the server said in place of going on.
        arguments: of each tool call, put together.
    """

    first_byte_us: int = -1
    first_event_us: int = -1
    first_token_us: int = -1
    first_reasoning_us: int = -1
    first_content_us: int = -1
    ended_us: int = -1
    arrivals_us: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()
    prompt_tokens: int = -1
    completion_tokens: int = -1
    reasoning_tokens: int = -1
    cached_tokens: int = -1
    content: str = ""
    reasoning: str = ""
    tool_calls: int = 0
    finish_reason: str = ""
    events: int = 0
    invalid: int = 0
    done: bool = False
    error: str = ""
    arguments: tuple[str, ...] = ()


class Exchange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request and its answer, small enough to be kept in a receipt.

    Attributes:
        label: which of the gate's questions it was.
        request: the body as JSON text.
        status: 0 where there was none; then `failure` says why.
        body: of the answer, its first part where it is long.
        body_bytes: of the whole.
        seconds: until the answer was whole.
        stream: the reading, where it was an event stream.
        error: what an error says that came with status 200.
    """

    label: str
    method: str
    path: str
    request: str = ""
    status: int = 0
    failure: Failure = Failure.NONE
    detail: str = ""
    content_type: str = ""
    body: str = ""
    body_bytes: int = 0
    seconds: float = 0.0
    stream: StreamReading | None = None
    error: str = ""

    @property
    def ok(self) -> bool:
        """A whole answer with status 200, and no error inside."""
        fine = self.status == 200 and not self.failure and not self.error
        return fine and not (self.stream and self.stream.error)
