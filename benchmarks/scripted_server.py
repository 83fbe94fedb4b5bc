"""A server of known moments, as lean as Python can be: the truth that clients are held against.

Every chunk is made beforehand, so that a token costs one timer and one write. For each streamed
answer it notes, on the machine's monotonic clock, when the request was whole and when each token
went out. ``python benchmarks/scripted_server.py SETTINGS.json MOMENTS.jsonl`` prints its port and
serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def event(value: dict[str, Any]) -> bytes:
    return chunk(b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n")


class Script:
    """Settings: ``ttft_s``, ``interval_s``, ``model``; chunks by kind of answer."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.ttft_s = float(settings["ttft_s"])
        self.interval_s = float(settings["interval_s"])
        self.model = str(settings.get("model", "tiny"))
        self.moments: list[dict[str, Any]] = []
        self._made: dict[tuple[bool, bool, int, int], list[bytes]] = {}

    def chunks(self, *, chat: bool, running: bool, tokens: int, prompt: int) -> list[bytes]:
        """One chunk a token, then the usage and the end."""
        key = (chat, running, tokens, prompt)
        if key not in self._made:
            self._made[key] = [self._token(n, key) for n in range(tokens)]
            usage = {"choices": [], **self._base(chat), "usage": self._usage(prompt, tokens)}
            self._made[key].append(event(usage) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        return self._made[key]

    def _token(self, number: int, key: tuple[bool, bool, int, int]) -> bytes:
        chat, running, tokens, prompt = key
        word = f" word{number}"
        choice: dict[str, Any] = {"index": 0, "logprobs": None}
        choice |= {"delta": {"content": word}} if chat else {"text": word}
        choice["finish_reason"] = "length" if number == tokens - 1 else None
        value = {**self._base(chat), "choices": [choice]}
        if running:
            value["usage"] = self._usage(prompt, number + 1)
        return event(value)

    def _base(self, chat: bool) -> dict[str, Any]:
        kind = "chat.completion.chunk" if chat else "text_completion"
        return {"id": "cmpl-0123456789abcdef", "object": kind, "created": 1, "model": self.model}

    def _usage(self, prompt: int, tokens: int) -> dict[str, int]:
        return {
            "prompt_tokens": prompt,
            "completion_tokens": tokens,
            "total_tokens": prompt + tokens,
        }


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._buffer = b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        arrived = time.perf_counter_ns()
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            lowered = head.lower()
            length = 0
            if b"content-length:" in lowered:
                length = int(lowered.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            self._answer(head.split(b" ", 2)[1].decode().split("?")[0], rest[:length], arrived)

    def _answer(self, path: str, body: bytes, arrived: int) -> None:
        if path.endswith("/completions"):
            request = json.loads(body)
            if request.get("stream"):
                self._stream(path, request, arrived)
            else:
                self._whole(request, chat="/chat/" in path)
            return
        if path == "/v1/models":
            row = {"id": self._script.model, "object": "model", "max_model_len": 32768}
            self._json({"object": "list", "data": [{**row, "owned_by": "vllm"}]})
        elif path == "/version":
            self._json({"version": "0.0.0+scripted"})
        elif path == "/tokenize":
            count = len(str(json.loads(body).get("prompt", "")).split())
            self._json({"count": count, "tokens": list(range(count)), "max_model_len": 32768})
        elif path == "/book.txt":  # prose for clients that want to be given some
            self._send(b"200 OK", b"The miller counted his sacks before the rain came. " * 2000)
        elif path in ("/health", "/ping"):
            self._send(b"200 OK", b"")
        else:
            self._send(b"404 Not Found", b'{"detail":"Not Found"}')

    def _whole(self, request: dict[str, Any], *, chat: bool) -> None:
        tokens = _tokens(request)
        text = " word" * tokens
        choice = {"index": 0, "finish_reason": "length"}
        said: dict[str, Any] = {"role": "assistant", "content": text}
        choice |= {"message": said} if chat else {"text": text}
        usage = {"prompt_tokens": 8, "completion_tokens": tokens, "total_tokens": 8 + tokens}
        self._json({"id": "x", "model": self._script.model, "choices": [choice], "usage": usage})

    def _json(self, value: dict[str, Any]) -> None:
        self._send(b"200 OK", json.dumps(value).encode())

    def _send(self, status: bytes, body: bytes) -> None:
        head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self._transport.write(head % (status, len(body)) + body)

    def _stream(self, path: str, request: dict[str, Any], arrived: int) -> None:
        options = request.get("stream_options") or {}
        chunks = self._script.chunks(
            chat="/chat/" in path,
            running=bool(options.get("continuous_usage_stats")),
            tokens=_tokens(request),
            prompt=8,
        )
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        moments: list[int] = []
        self._script.moments.append({"arrived": arrived, "tokens": moments})
        # Each stream has its own phase: 256 tokens do not leave in one instant, as in life.
        phase = (len(self._script.moments) * 0.618034 % 1.0) * self._script.interval_s
        start = self._loop.time() + self._script.ttft_s + phase
        self._step(chunks, 0, start, moments)

    def _step(self, chunks: list[bytes], number: int, start: float, moments: list[int]) -> None:
        due = start + number * self._script.interval_s
        self._loop.call_at(due, self._write, chunks, number, start, moments)

    def _write(self, chunks: list[bytes], number: int, start: float, moments: list[int]) -> None:
        if self._transport.is_closing():
            return
        last = number == len(chunks) - 2
        moments.append(time.perf_counter_ns())
        self._transport.write(chunks[number] + chunks[-1] if last else chunks[number])
        if not last:
            self._step(chunks, number + 1, start, moments)


def _tokens(request: dict[str, Any]) -> int:
    return int(request.get("max_tokens") or request.get("max_completion_tokens") or 16)


async def serve(script: Script) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Line(script), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    ended = asyncio.Event()

    def wait() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()
    server.close()


def main() -> None:
    script = Script(json.loads(Path(sys.argv[1]).read_text()))
    asyncio.run(serve(script))
    Path(sys.argv[2]).write_text("".join(json.dumps(note) + "\n" for note in script.moments))


if __name__ == "__main__":
    main()
