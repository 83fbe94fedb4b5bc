"""Our dated wordings against the messages of the releases that are shipped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from sparkproof.core.observations.boot_log import BootLog
from sparkproof.core.observations.release_parts import Message
from sparkproof.facts.log_book import log_lines
from sparkproof.facts.surfaces import load_messages, load_surface, shipped_surfaces
from sparkproof.formats.vllm_log.phrases import PhraseIndex
from sparkproof.formats.vllm_log.reader import read_log
from sparkproof.formats.vllm_log.release_wording import (
    ReleaseWording,
    Template,
    read_release_wording,
)

WORDINGS = {line.id: line for line in log_lines()}
BANNER = "(APIServer pid=1) INFO 11-29 20:41:25 [a.py:1] vLLM API server version 9.9.9\n"
ENGINE = "(EngineCore pid=9) INFO 11-29 20:42:11 [a.py:1] "
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"


def _message(text: str, level: str = "info") -> Message:
    return Message(text, level, "vllm/a.py", 1)


def _learn(*texts: str) -> ReleaseWording:
    return read_release_wording(WORDINGS.values(), [_message(text) for text in texts])


def _shipped(version: str) -> ReleaseWording:
    return read_release_wording(WORDINGS.values(), load_messages(version))


def _read(text: str, *texts: str) -> BootLog:
    def learn(version: str) -> ReleaseWording:
        return _learn(*texts) if version == "9.9.9" else ReleaseWording()

    index = PhraseIndex(tuple(WORDINGS.values()), (), learn)
    return read_log([text.encode()], index, "log").boots[-1]


@pytest.mark.parametrize("version", shipped_surfaces())
def test_every_dated_range_is_that_of_the_messages(version: str) -> None:
    told = read_release_wording(WORDINGS.values(), load_messages(version))
    ours = {line for line in WORDINGS.values() if not line.printed_by}
    dated = {line.id for line in ours if version in SpecifierSet(line.releases, prereleases=True)}
    assert dated == {line.id for line in ours} - told.unprinted
    assert told.extra == ()


def test_messages_are_those_of_the_surface() -> None:
    version = list(shipped_surfaces())[-1]
    assert load_messages(version) == load_surface(version).messages
    assert load_messages(f"{version}+cu130") == load_messages(version)
    assert load_messages("0.34.0") == load_messages("0.1.dev1+gabc") == load_messages("x") == ()


FOREIGN = ("other", "client")


def test_what_cannot_be_told_is_listed_with_its_reason() -> None:
    untold = [line for line in WORDINGS.values() if line.printed_by and line.event not in FOREIGN]
    assert sorted(line.id for line in untold) == UNTOLD


UNTOLD = [
    "backend/attention-forced",
    "compile/total",
    "dead/engine",
    "device/name",
    "failed/arguments",
    "graphs/capture",
    "profile/freed",
    "ready/startup",
    "refused/dense",
    "shutdown/uvicorn",
    "start/banner",
    "start/command",
    "warning/auto-parallel-download",
]


REWORDED = [
    (
        "%s KV cache capacity: %s tokens, maximum concurrency for %s tokens per request: %.2fx",
        "GPU KV cache capacity: 1,024 tokens, maximum concurrency for 99 tokens per request: 2.00x",
        {"kv_tokens": 1024, "concurrency_len": 99, "max_concurrency_x": 2.0},
    ),
    (
        "Graph capturing finished after %.0f secs and took %.2f GiB",
        "Graph capturing finished after 3 secs and took 0.42 GiB",
        {"capture_s": 3.0, "graph_actual_gib": 0.42},
    ),
    (
        "Loading the model weights took %.2f seconds",
        "Loading the model weights took 7.50 seconds",
        {"load_weights_s": 7.5},
    ),
]


@pytest.mark.parametrize(("message", "line", "facts"), REWORDED)
def test_a_line_that_the_release_words_otherwise_is_read(
    message: str, line: str, facts: dict[str, float]
) -> None:
    text = f"{BANNER}{ENGINE}{line}\n"
    assert _read(text).seen == ()
    boot = _read(text, message)
    assert {item.name: item.value for item in boot.seen if item.name in facts} == facts


def test_only_after_the_version_is_known_and_only_in_that_boot() -> None:
    message, line, _ = REWORDED[1]
    assert _read(f"{ENGINE}{line}\n{BANNER}", message).seen == ()
    other = BANNER.replace("9.9.9", "9.9.8")
    assert _read(f"{BANNER}{READY}{other}{ENGINE}{line}\n", message).seen == ()
    assert _read(f"{other}{READY}{BANNER}{ENGINE}{line}\n", message).seen != ()


def test_two_messages_that_are_equally_alike_teach_nothing() -> None:
    one, two = (f"Graph capturing finished {w} %.0f secs and took %.2f GiB" for w in "ab")
    assert _learn(one, two).extra == ()
    debug = _message(REWORDED[1][0], "debug")
    assert read_release_wording(WORDINGS.values(), [debug]).extra == ()


def test_what_the_release_cannot_print_is_not_absent() -> None:
    whole = f"{BANNER}{ENGINE}x\n{READY}"
    assert "kv/tokens" in _read(whole.replace("9.9.9", "9.9.8")).absent
    assert "kv/tokens" in _read(whole, "%s KV cache size: %s tokens").absent
    assert "kv/tokens" not in _read(whole, "something else altogether").absent


@pytest.mark.parametrize("version", ["1" * 60_000, "1." * 30_000 + "x", "0.26.0+" + "a." * 9_000])
def test_a_version_of_any_length_is_no_trouble(version: str) -> None:
    text = BANNER.replace("9.9.9", version) + READY
    index = PhraseIndex(tuple(WORDINGS.values()), (), _shipped)
    assert len(read_log([text.encode()], index, "log").boots[-1].version) <= 80


HOSTILE = [
    "%s" * 400,
    "{" * 900,
    "%s KV cache size: %s tokens " + "%s " * 300,
    "(((((" + "%s" * 10 + "Maximum concurrency for tokens per request",
    "\0[a-z]+$",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_format_strings_are_text(text: str) -> None:
    for extra in _learn(text).extra:
        PhraseIndex((extra,), ()).look_up(b"x" * 60_000)


def test_no_line_makes_a_release_s_pattern_slow() -> None:
    template = Template(_message("%s " * 10 + "tokens of the cache %s, %s"))
    assert not template.pattern.search("a " * 32_000 + "tokens of the caches")
    assert template.pattern.search("a " * 10 + "tokens of the cache 1, 2, 3")


@given(text=st.text(max_size=80), values=st.lists(st.text("ab 1", max_size=5), max_size=4))
def test_a_template_matches_what_it_makes(text: str, values: list[str]) -> None:
    fixed = [f"<{n}>" for n in range(len(values))]
    message = "begin" + "%s".join(["", *fixed])
    line = "begin" + "".join(v + f for v, f in zip(values, fixed, strict=True))
    template = Template(_message(message))
    assert template.pattern.search(line)
    Template(_message(text)).pattern.search(line)
