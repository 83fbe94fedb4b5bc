"""The fault proxy before a real server: what it writes is spelt in that server's own tokens.

No boot of its own: the soak's server is asked.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.live.gate_server import Live

from sparkproof.adapters.server import Server
from sparkproof.core.server_port import Ask
from sparkproof.testing.proxy import FaultProxy

pytestmark = [pytest.mark.live, pytest.mark.enable_socket]
PROMPT = "Extract: the vendor tagged vllm 0.22.0.\n"
SOUND = '{"name": "vllm", "version": "0.22.0", "by": "the vendor"}\n'
BODY = {"model": "tiny", "prompt": PROMPT, "temperature": 0, "max_tokens": 48}
TOLD = {"logprobs": 2, "return_token_ids": True, "return_tokens_as_token_ids": True}
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


def post(url: str, path: str, body: dict[str, Any]) -> list[Any]:
    """The answer, or each event of it."""

    async def go() -> bytes:
        async with Server(url) as port:
            ask = Ask("x", path, msgspec.json.encode(body), timeout_s=600, silence_s=600)
            return (await port.send(ask)).body

    data = asyncio.run(go())
    if not body.get("stream"):
        return [msgspec.json.decode(data)]
    rows = [row.removeprefix(b"data: ") for row in data.splitlines() if row]
    return [msgspec.json.decode(row) for row in rows if row != b"[DONE]"]


@pytest.mark.parametrize("more", [{}, STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("", SOUND),
        ("drop-version", SOUND.replace("0.22.0", "0.22")),
        ("mutate-key:version", SOUND.replace("version", "versino")),
    ],
)
def test_text_ids_and_counts_are_of_one_piece(
    small_pool: Live, fault: str, said: str, more: dict[str, Any]
) -> None:
    with FaultProxy(small_pool.url, [fault] if fault else []) as proxy:
        events = post(proxy.url, "/v1/completions", {**BODY, **TOLD, **more})
    choices = [choice for event in events for choice in event["choices"]]
    ids = [number for choice in choices for number in choice["token_ids"] or ()]
    names = [name for c in choices for name in (c["logprobs"] or {}).get("tokens", ())]
    asked = {"model": "tiny", "prompt": said, "add_special_tokens": False}
    (spelt,) = post(small_pool.url, "/tokenize", asked)
    assert "".join(choice["text"] for choice in choices) == said
    assert ids[: spelt["count"]] == spelt["tokens"]
    assert len(ids) == spelt["count"] + 1  # and the token that ends the text
    assert names == [f"token_id:{number}" for number in ids]
    assert events[-1]["usage"]["completion_tokens"] == len(ids)
