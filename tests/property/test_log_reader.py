"""Any bytes, cut anywhere, end in a reading or in one error type."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkproof.bootlog.diagnosis import diagnose
from sparkproof.bootlog.probes import signature_probes
from sparkproof.bootlog.response import parse_answers
from sparkproof.bootlog.response_rules import judge_answer
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.boot_log import LogReading
from sparkproof.facts.book import signatures
from sparkproof.facts.log_book import log_lines
from sparkproof.formats.kernel_log import parse_kernel_log
from sparkproof.formats.stamps import parse_moment
from sparkproof.formats.vllm_log.phrases import PhraseIndex
from sparkproof.formats.vllm_log.reader import read_log
from sparkproof.recipe.docker_inspect import deployment_of, parse_docker_inspect

LOGS = Path(__file__).parents[1] / "data" / "logs"
INDEX = PhraseIndex(log_lines(), signature_probes(signatures().values()))
REAL = (LOGS / "cpu-0.32.0-mtp-hybrid.log").read_bytes()
COMPOSED = b"Attaching to one, two\n" + b"".join(
    b"%s-1  | %s\n" % (name, line) for line in REAL.splitlines()[:90] for name in (b"one", b"two")
)


def _read(chunks: list[bytes]) -> LogReading | None:
    try:
        return read_log(chunks, INDEX, "log")
    except FormatError:
        return None


@settings(max_examples=40)
@given(st.sampled_from((REAL, COMPOSED)), st.lists(st.floats(0, 1), max_size=12))
def test_where_a_log_is_cut_into_chunks_does_not_matter(log: bytes, cuts: list[float]) -> None:
    places = [0, *sorted(int(share * len(log)) for share in cuts), len(log)]
    pieces = [log[a:b] for a, b in itertools.pairwise(places)]
    assert _read(pieces) == _read([log])


@settings(max_examples=60)
@given(st.integers(0, len(REAL)), st.integers(0, len(REAL)), st.binary(max_size=40))
def test_a_damaged_log_is_read_or_refused(start: int, end: int, junk: bytes) -> None:
    reading = _read([REAL[:start], junk, REAL[end:]])
    if reading:
        for boot in reading.boots:
            assert diagnose(boot, signatures().values(), "log").cause is None


@settings(max_examples=150)
@given(st.binary(max_size=400))
def test_any_bytes_end_in_one_error_type(data: bytes) -> None:
    _read([data])
    for event in parse_kernel_log([data, b"\nOut of memory: Killed process ", data]):
        parse_moment(event.text)
    parse_moment(data.decode("latin-1"))
    for parse in (parse_answers, parse_docker_inspect):
        try:
            parse(data, "x")
        except FormatError:
            continue


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "error",
                    "Config",
                    "Cmd",
                    "Env",
                    "State",
                    "response",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(_JSON)
def test_any_json_is_an_answer_or_none(document: object) -> None:
    import msgspec  # noqa: PLC0415

    data = msgspec.json.encode(document)
    try:
        for answer in parse_answers(data, "x"):
            judge_answer(answer)
    except FormatError:
        pass
    with contextlib.suppress(FormatError):
        deployment_of(parse_docker_inspect(data, "x"), "x")
