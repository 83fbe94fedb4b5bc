"""What each fault makes of an answer, however the answer is cut."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.testing.answers import Told, exchange, feed, stream, struck, whole

from sparkproof.core.errors import UsageError
from sparkproof.testing.faults import FAULTS, parse_fault
from sparkproof.testing.faults.answer import SURE_NATS
from sparkproof.testing.faults.counts import counts_of, since_restart
from sparkproof.testing.faults.fault import LineCutError

VERSION = '{"name": "vllm", "version": "2.11.0+cu130", "was": "1.2.3.4"}'
WORD_FAULTS = ("drop-version", "mutate-key", "repeat:3", "garbage", "corrupt", "corrupt-above:1")


def consistent(told: Told) -> bool:
    """Ids, log-probabilities and the count of tokens say what the text says."""
    return (
        told.ids == [ord(c) for c in told.text]
        and "".join(told.texts) == told.text
        and len(told.nats) == len(told.ids) == told.tokens
    )


def cut(text: str, places: list[int]) -> list[str]:
    marks = sorted({n for n in places if 0 < n < len(text)})
    edges = [0, *marks, len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize("chat", [False, True])
@settings(max_examples=50)
@given(st.lists(st.integers(1, len(VERSION) - 1)))
def test_versions_lose_their_last_part_however_the_stream_is_cut(
    chat: bool, places: list[int]
) -> None:
    told = struck("drop-version", stream(cut(VERSION, sorted(places)), chat))
    if all(len(piece) == 1 for piece in cut(VERSION, places)) or not places:
        assert told.text == '{"name": "vllm", "version": "2.11+cu130", "was": "1.2.3"}'
    assert "2.11+cu130" in told.text
    assert consistent(told)


@pytest.mark.parametrize("chat", [False, True])
def test_token_by_token_gives_what_the_whole_answer_gives(chat: bool) -> None:
    for fault in ("drop-version", "mutate-key", "mutate-key:version", "garbage", "corrupt"):
        one = struck(fault, stream(list(VERSION), chat))
        other = struck(fault, whole(VERSION, chat))
        assert one.text == other.text != VERSION
        assert one.ids == other.ids


@pytest.mark.parametrize("fault", WORD_FAULTS)
@settings(max_examples=50)
@given(text=st.text(alphabet='ab1.2 "{}:,', min_size=1, max_size=60), places=st.data())
def test_tokens_and_counts_always_fit_the_text(
    fault: str, text: str, places: st.DataObject
) -> None:
    marks = places.draw(st.lists(st.integers(1, 60)))
    for events in (stream(cut(text, marks)), whole(text), stream(cut(text, marks), True)):
        assert consistent(struck(fault, events))


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("fault", WORD_FAULTS)
def test_tokens_that_are_named_by_their_ids_stay_so(fault: str, chat: bool) -> None:
    told = struck(fault, stream(list(VERSION), chat, by_id=True))
    assert told.text != VERSION
    assert told.texts == [f"token_id:{number}" for number in told.ids]
    assert told.ids == [ord(c) for c in told.text]
    assert told.nats.count(-1.0) >= (0 if fault == "garbage" else 3)


def test_what_a_fault_writes_is_sure_of_itself() -> None:
    told = struck("corrupt", stream(list(VERSION)))
    changed = [n for n, (a, b) in enumerate(zip(told.text, VERSION, strict=True)) if a != b]
    assert [told.nats[n] for n in changed] == [SURE_NATS]
    assert told.nats.count(-1.0) == len(VERSION) - 1


def test_a_sound_text_passes_unchanged_and_untouched() -> None:
    events = stream(list("a river of 1.2 words"))
    told = struck(["drop-version", "mutate-key"], events)
    assert [event.changed for event in told.events] == [False] * len(events)


def test_a_named_key_is_the_one_that_changes() -> None:
    assert '"versino"' in struck("mutate-key:version", whole(VERSION)).text
    assert '"nmae"' not in struck("mutate-key:version", whole(VERSION)).text


def test_repetition_begins_after_the_good_tokens() -> None:
    assert struck("repeat:3", stream(list("a-c+e!g"))).text == "a-ccccc"
    assert struck("repeat:2", whole("one two three four")).text.startswith("one two two")


def test_the_last_of_two_faults_sees_what_the_first_wrote() -> None:
    told = struck(["drop-version", "usage:2"], stream(list("v1.2.3")))
    assert told.text == "v1.2"
    assert told.tokens == 10  # 12 less the two that were never said


def test_packing_keeps_text_tokens_and_counts() -> None:
    told = struck("pack:4", stream(list("abcdefghij")))
    assert [len(e.choices()[0]["token_ids"]) for e in told.events if e.choices()] == [4, 4, 2]
    assert told.text == "abcdefghij"
    assert consistent(told)


def test_a_share_is_drawn_by_number_and_seed_alone() -> None:
    fault = parse_fault("corrupt:0.1")
    hit = [n for n in range(1, 2001) if fault.strikes(exchange(n))]
    assert 150 < len(hit) < 250
    assert hit == [n for n in range(1, 2001) if fault.strikes(exchange(n, peak=5))]
    assert hit != [n for n in range(1, 2001) if fault.strikes(exchange(n, seed=1))]


def test_above_a_batch_only() -> None:
    fault = parse_fault("corrupt-above:4")
    assert [fault.strikes(exchange(peak=n)) for n in (1, 3, 4, 8)] == [False, False, True, True]


def test_every_tenth_stream_is_slow() -> None:
    fault = parse_fault("slow:0")
    assert [n for n in range(1, 31) if fault.strikes(exchange(n))] == [10, 20, 30]


def test_a_cut_comes_after_the_pieces() -> None:
    with pytest.raises(LineCutError):
        struck("truncate:pieces=2", stream(list("abc")))


def test_a_stall_keeps_the_pieces_before_it_and_never_ends() -> None:
    async def go() -> tuple[list[str], bool]:
        events = parse_fault("stall:2").act(exchange(), feed(stream(list("abc"))))
        got = [(await anext(events)).choices()[0]["text"] for _ in range(2)]
        waiting = asyncio.ensure_future(anext(events))
        for _ in range(20):
            await asyncio.sleep(0)
        ended = waiting.done()
        waiting.cancel()
        return got, ended

    assert asyncio.run(go()) == (["a", "b"], False)


def test_deaths_wait_for_their_moment() -> None:
    die, illegal = parse_fault("die:4"), parse_fault("illegal-access:7")
    assert [bool(die.arrives(exchange(9, n))) for n in (3, 4)] == [False, True]
    assert [bool(illegal.arrives(exchange(n))) for n in (6, 7)] == [False, True]
    restart = parse_fault("restart:1,number=3")
    assert [bool(restart.arrives(exchange(n))) for n in (2, 3, 4)] == [False, True, False]


SCRAPE = """\
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79e+09
vllm:num_preemptions_total{engine="0"} 7.0
vllm:num_requests_running{engine="0"} 2.0
vllm:e2e_bucket{engine="0",le="+Inf"} 12.0
"""


def test_a_server_that_was_restarted_counts_anew() -> None:
    text = since_restart(SCRAPE, counts_of(SCRAPE), 1.8e9)
    assert "process_start_time_seconds 1800000000.0" in text
    assert 'vllm:num_preemptions_total{engine="0"} 0.0' in text
    assert 'vllm:num_requests_running{engine="0"} 2.0' in text
    assert 'le="+Inf"} 0.0' in text


def test_preemptions_can_be_hidden() -> None:
    text = parse_fault("hide-preemptions").scrape(SCRAPE)
    assert text == SCRAPE.replace("7.0", "0.0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "`nonsense` is no fault"),
        ("corrupt:2", "<= 1.0"),
        ("corrupt:share=x", "expected `float`"),
        ("corrupt:0.1,0.2", "names no field"),
        ("corrupt:colour=red", "unknown field `colour`"),
        ("stall:0", ">= 1"),
        ("usage:inf", "<= 1000000.0"),
        ("mutate-key:\udcff", "no name and no value has"),
    ],
)
def test_a_wrong_fault_is_one_clear_error(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_fault(text)
    assert said in caught.value.message
    assert caught.value.hint


def test_every_fault_says_what_it_does() -> None:
    assert len(FAULTS) == 17
    for name, fault in FAULTS.items():
        assert fault.name == name
        assert fault.about[0].islower()
        assert fault.main in fault.__struct_fields__
