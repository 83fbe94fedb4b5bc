"""One suite for every `ServerPort`: the real adapter on a loopback socket, and the fake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from sparkproof.adapters.server import Server, key_of, server_address
from sparkproof.core.errors import UsageError
from sparkproof.core.server_port import Ask, Failure, Reply, ServerPort
from sparkproof.load.observe import observe, read_stream
from sparkproof.testing.openai_server import LineFaults, OpenAIServer
from sparkproof.testing.stand_in import FakePort, StandIn
from sparkproof.testing.stand_in_answer import Behaviour

pytestmark = pytest.mark.enable_socket

Send = Callable[[Behaviour, Ask], Reply]


def post(**body: object) -> Ask:
    whole = {"model": "tiny", "prompt": "Count from 44:", "max_tokens": 12, **body}
    return Ask("x", "/v1/completions", msgspec.json.encode(whole), timeout_s=20, silence_s=10)


def streamed(**body: object) -> Ask:
    options = {"include_usage": True, "continuous_usage_stats": True}
    return post(stream=True, stream_options=options, **body)


async def _one(port: ServerPort, ask: Ask) -> Reply:
    return await port.send(ask)


def _fake(behaviour: Behaviour, ask: Ask) -> Reply:
    return asyncio.run(_one(FakePort(StandIn(behaviour)), ask))


def _real(behaviour: Behaviour, ask: Ask) -> Reply:
    with OpenAIServer(StandIn(behaviour)) as server:
        return send(server.url, ask)


def send(url: str, ask: Ask, key: str = "") -> Reply:
    async def go() -> Reply:
        async with Server(url, key=key) as port:
            return await port.send(ask)

    return asyncio.run(go())


@pytest.fixture(params=[_fake, _real], ids=["fake", "socket"])
def answer(request: pytest.FixtureRequest) -> Send:
    found: Send = request.param
    return found


def test_a_get(answer: Send) -> None:
    reply = answer(Behaviour(), Ask("v", "/version"))
    assert (reply.ok, reply.body) == (True, b'{"version": "0.32.0"}')


def test_a_whole_answer(answer: Send) -> None:
    reply = answer(Behaviour(), post())
    assert reply.ok
    assert b"44 45 46" in reply.body


def test_an_error_status_is_an_answer(answer: Send) -> None:
    reply = answer(Behaviour(), post(model="other"))
    assert (reply.status, reply.failure) == (404, Failure.NONE)
    assert b"does not exist" in reply.body


def test_a_stream_with_its_moments(answer: Send) -> None:
    reply = answer(Behaviour(ttft_s=0.05, interval_s=0.01), streamed())
    reading = read_stream(reply)
    assert reading.done
    assert reading.tokens == (1,) * 12
    assert reading.content.startswith("44 45 46")
    assert 45_000 < reading.first_token_us < 600_000
    assert list(reading.arrivals_us) == sorted(reading.arrivals_us)
    span = reading.arrivals_us[-1] - reading.arrivals_us[0]
    assert 60_000 < span < 800_000


def faulty(**faults: object) -> OpenAIServer:
    return OpenAIServer(faults=LineFaults(**faults))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("faults", "ask", "failure"),
    [
        ({"drop_after": 4}, streamed(), Failure.DROPPED),
        ({"drop_after": 1}, post(), Failure.DROPPED),
        ({"raw": b"SSH-2.0-OpenSSH_9.6\r\n"}, post(), Failure.NOT_HTTP),
        ({"raw": b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n"}, post(), Failure.NOT_HTTP),
        (
            {"raw": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0\r\n\r\n"},
            post(),
            Failure.NOT_HTTP,
        ),
        (
            {"raw": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"},
            post(),
            Failure.NOT_HTTP,
        ),
        ({"raw": b"HTTP/1.1 100 Continue\r\n\r\n" * 4000}, post(), Failure.DROPPED),
    ],
)
def test_a_line_that_breaks(
    faults: dict[str, object], ask: Ask, failure: Failure, caplog: pytest.LogCaptureFixture
) -> None:
    with faulty(**faults) as server:
        reply = send(server.url, ask)
    assert reply.failure is failure
    assert reply.detail
    assert not caplog.records  # the event loop logs what a callback throws


@pytest.mark.parametrize("ask", [streamed(), post()])
def test_silence_ends_after_its_time(ask: Ask) -> None:
    with faulty(stall_after=2) as server:
        reply = send(server.url, msgspec.structs.replace(ask, silence_s=0.3))
    assert reply.failure is Failure.SILENT


def test_a_slow_loris_ends_with_the_time_for_the_whole() -> None:
    with faulty(drip_s=0.05) as server:
        reply = send(server.url, msgspec.structs.replace(post(), timeout_s=0.6))
    assert reply.failure is Failure.TIMEOUT


@pytest.mark.parametrize("ask", [streamed(), post()])
def test_an_endless_answer_ends_at_its_limit(ask: Ask) -> None:
    with faulty(endless=True) as server:
        reply = send(server.url, msgspec.structs.replace(ask, limit_bytes=1 << 20))
    assert reply.failure is Failure.TOO_LARGE
    assert len(reply.body) < 2 << 20


def test_events_that_are_none_are_counted() -> None:
    with faulty(bad_event=True) as server:
        assert read_stream(send(server.url, streamed())).invalid == 1


def test_a_redirect_is_not_followed() -> None:
    with faulty(redirect="http://127.0.0.1:1/") as server:
        reply = send(server.url, Ask("v", "/version"), key="secret-key")
    assert reply.status == 302
    assert reply.detail == "redirects to http://127.0.0.1:1/"


def test_nothing_listens() -> None:
    with OpenAIServer() as server:
        url = server.url
    refused = send(url, post())
    assert refused.failure is Failure.REFUSED
    assert refused.detail.startswith("nothing listens on port")
    assert send("http://name.invalid", post()).failure is Failure.REFUSED


def test_plain_text_where_tls_was_meant() -> None:
    with OpenAIServer() as server:
        reply = send(server.url.replace("http://", "https://"), post())
    assert reply.failure is Failure.TLS


def test_the_key_is_sent_and_never_comes_back() -> None:
    behaviour = Behaviour(key="right-key-1234", echoes_key=True)
    with OpenAIServer(StandIn(behaviour)) as server:
        assert send(server.url, Ask("v", "/version"), key="right-key-1234").ok
        refused = send(server.url, Ask("v", "/version"), key="wrong-key-5678")
        basic = send(server.url.replace("//", "//user:pass-word-9@"), Ask("v", "/version"))
    assert refused.status == 401
    assert b"wrong-key-5678" not in refused.body
    assert b"[redacted]" in refused.body
    assert b"pass-word-9" not in basic.body


@pytest.mark.parametrize("key", ['abc"def/ghi', "abc\\def&ghi"])
def test_a_key_that_comes_back_escaped_is_masked(key: str) -> None:
    with OpenAIServer(StandIn(Behaviour(version=f"1+{key}"))) as server:
        reply = send(server.url, Ask("v", "/version"), key=key)
    assert msgspec.json.decode(reply.body) == {"version": "1+[redacted]"}


def test_connections_are_used_again_and_dead_ones_replaced() -> None:
    async def go(url: str) -> list[int]:
        async with Server(url) as port:
            first = [await port.send(Ask("v", "/version")) for _ in range(3)]
            for wire in port._idle:
                assert wire._transport is not None
                wire._transport.abort()
            second = await port.send(Ask("v", "/version"))
            return [reply.status for reply in (*first, second)]

    with OpenAIServer() as server:
        assert asyncio.run(go(server.url)) == [200] * 4


def test_many_at_once() -> None:
    async def go(url: str) -> list[Reply]:
        async with Server(url) as port:
            return list(await asyncio.gather(*(port.send(streamed()) for _ in range(64))))

    with OpenAIServer() as server:
        replies = asyncio.run(go(server.url))
        truth = list(server.moments)
    assert len(truth) == 64
    assert all(len(read_stream(reply).tokens) == 12 for reply in replies)


def test_what_is_kept_holds_no_key() -> None:
    with OpenAIServer(StandIn(Behaviour(key="k-123456", echoes_key=True))) as server:
        ask = Ask("v", "/version")
        kept = msgspec.json.encode(observe(ask, send(server.url, ask, key="k-654321")))
    assert b"k-654321" not in kept


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("server:http://h:8000/v1/", "http://h:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://h/gateway/v1", "https://h/gateway"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_addresses(text: str, address: str) -> None:
    assert server_address(text) == address


@pytest.mark.parametrize(
    "text", ["ftp://x", "http://", "http://h:99999", "http://h:x", "", "http://a b"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError):
        server_address(text)


def test_the_key_comes_from_the_environment_and_from_ours_first() -> None:
    assert key_of({"SPARKPROOF_API_KEY": "a", "VLLM_API_KEY": "b"}) == "a"
    assert key_of({"VLLM_API_KEY": "b", "OPENAI_API_KEY": "c"}) == "b"
    assert key_of({"OPENAI_API_KEY": "c"}) == ""
