"""Whatever comes back, a soak makes one record of it that can be kept."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.gates.test_soak import DEAD, LONG

from sparkproof.core.observations.soak_run import Record, SoakRecord
from sparkproof.core.server_port import Failure, Reply
from sparkproof.gates.soak_mix import Mix
from sparkproof.gates.soak_read import read_reply

_STREAM = b'data: {"choices": [{"index": 0, "text": "a"}], "usage": null}\n\ndata: [DONE]\n\n'
_BIG = b'{"choices": [{"text": ""}], "usage": {"prompt_tokens": 1' + b"0" * 40 + b"}}"
_BODIES = st.one_of(
    st.binary(max_size=400),
    st.sampled_from([DEAD, _STREAM, _BIG, b"[" * 5000, b'{"choices": [{"text": "\\ud800"}]}']),
    st.tuples(st.just(_STREAM), st.integers(0, len(_STREAM))).map(lambda p: p[0][: p[1]]),
    st.text(max_size=200).map(
        lambda text: msgspec.json.encode({"choices": [{"message": {"content": text}}]})
    ),
)


@given(
    body=_BODIES,
    n=st.integers(0, 100),
    status=st.sampled_from([0, 200, 204, 400, 404, 500, 503]),
    kind=st.sampled_from(["", "application/json", "text/event-stream"]),
    failure=st.sampled_from(Failure),
    detail=st.text(max_size=40),
)
def test_any_answer_is_one_record(
    body: bytes, n: int, status: int, kind: str, failure: Failure, detail: str
) -> None:
    reply = Reply(status, kind, failure, detail, ended_s=1.0, pieces=((0.5, body),))
    record = read_reply(Mix(LONG).request(n), reply, 1.0, LONG, ("raw", "count"))
    kept = msgspec.json.decode(msgspec.json.encode(record), type=Record)
    assert isinstance(kept, SoakRecord)
    assert kept == record
    assert len(record.detail) <= 240
