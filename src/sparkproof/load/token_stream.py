"""What a streamed answer says token by token: ids, log-probabilities, text and calls."""

from __future__ import annotations

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.ab_run import Token
from sparkproof.core.server_port import Reply
from sparkproof.formats.openai_stream import DONE
from sparkproof.formats.openai_tokens import TokenChoice, parse_token_chunk, tokens_of
from sparkproof.formats.sse import SseReader


class SaidTokens(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer.

    Attributes:
        text: of the answer; of what it thought where there is no answer beside it.
        calls: (name, arguments) of each tool call, as the server gave them.
        system_fingerprint: which configuration answered; "" where it does not tell.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    tokens: tuple[Token, ...] = ()
    system_fingerprint: str = ""


def read_tokens(reply: Reply) -> SaidTokens:
    """Read an event stream for its tokens; a damaged one as far as it goes."""
    said = _Said()
    reader = SseReader()
    try:
        for _, piece in reply.pieces:
            for event in reader.feed(piece):
                said.take(event.data)
        for event in reader.finish():
            said.take(event.data)
    except FormatError:
        pass  # `observe.read_stream` tells of it
    return said.done()


class _Said:
    def __init__(self) -> None:
        self._content: list[str] = []
        self._thought: list[str] = []
        self._calls: dict[int, tuple[list[str], list[str]]] = {}
        self._tokens: list[Token] = []
        self._system = ""

    def take(self, data: str) -> None:
        chunk = None if data == DONE else parse_token_chunk(data)
        if chunk is None:
            return
        self._system = chunk.system_fingerprint or self._system
        for choice in chunk.choices[:1]:
            self._tokens += tokens_of(choice)
            self._texts(choice)

    def _texts(self, choice: TokenChoice) -> None:
        delta = choice.delta
        if delta is None:
            self._content.append(choice.text or "")
            return
        self._content.append(delta.content or "")
        self._thought.append(delta.reasoning or delta.reasoning_content or "")
        for call in delta.tool_calls or ():
            name, arguments = self._calls.setdefault(call.index, ([], []))
            if call.function is not None:
                name.append(call.function.name or "")
                arguments.append(call.function.arguments or "")

    def done(self) -> SaidTokens:
        return SaidTokens(
            text="".join(self._content) or "".join(self._thought),
            calls=tuple(
                ("".join(name), "".join(arguments))
                for _, (name, arguments) in sorted(self._calls.items())
            ),
            tokens=tuple(self._tokens),
            system_fingerprint=self._system,
        )
