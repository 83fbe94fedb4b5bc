"""Several servers in one output, each with its own boots."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest

import pytest
from tests.unit.bootlog.conftest import INDEX, LOGS, ReadText, read_file

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.boot_log import BootLog, Outcome
from sparkproof.formats.vllm_log.reader import LogReader
from sparkproof.usecases.log.command import read_last_boot, report_reading

FIRST, SECOND = "h200-0.26.0-moe-nvfp4a16.log", "h200-0.26.0-moe-b12x-refused.log"
FORMS = {
    "compose": "{}-1    | ",
    "compose with colours": "\x1b[36m{}-1    | \x1b[0m",
    "kubectl": "[pod/{}-0/vllm] ",
    "stern": "{}-0 \u203a vllm ",
}


def _interleaved(form: str) -> str:
    one, two = ((LOGS / name).read_text().splitlines() for name in (FIRST, SECOND))
    pairs = zip_longest(
        [form.format("chat") + x for x in one], [form.format("em") + x for x in two]
    )
    return "\n".join(line for line in chain.from_iterable(pairs) if line) + "\n"


def _facts(boot: BootLog) -> tuple[object, ...]:
    values = {(item.name, item.value) for item in boot.seen}
    return boot.version, boot.outcome, boot.arguments, values, boot.started_at, boot.fact_count


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_server_has_the_facts_of_its_own_log(form: str, read_text: ReadText) -> None:
    last = read_text(_interleaved(form)).last_boots()
    assert [_facts(boot) for boot in last] == [_facts(read_file(n)) for n in (FIRST, SECOND)]
    assert last[0].service.startswith("chat")


def test_a_report_on_two_servers_begins_with_the_one_that_failed(read_text: ReadText) -> None:
    report = report_reading(read_text(_interleaved(FORMS["compose"])))
    first, second = report.summary.split("; ", 1) if report.summary else ("", "")
    assert first.startswith("em-1: ")
    assert "chat-1: vllm 0.26.0 " in second
    assert report.verdict.value == "fail"
    assert {f.subject.split()[0] for f in report.findings} == {"em-1", "chat-1"}


class _Source:
    name = "two.log"

    def __init__(self, text: str) -> None:
        self._text = text

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        del follow
        yield self._text.encode()


def test_what_is_asked_of_one_server_is_refused_for_two() -> None:
    with pytest.raises(FormatError, match="2 servers print into it: chat-1, em-1"):
        read_last_boot(_Source(_interleaved(FORMS["compose"])))


BOOT = (LOGS / FIRST).read_text().splitlines(keepends=True)


def test_another_programs_lines_are_not_judged(read_text: ReadText) -> None:
    text = "".join(f"vllm-1  | {line}" for line in BOOT)
    text += "web-1   | torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
    reading = read_text(text)
    assert [boot.service for boot in reading.boots] == ["vllm-1"]
    assert not reading.boots[-1].errors


def test_lines_without_a_name_belong_to_the_one_above(read_text: ReadText) -> None:
    text = "".join(f"vllm-1  | {line}" for line in BOOT) + "Error: no space left on device\n"
    assert read_text("Attaching to vllm-1, web-1\n" + text).last_boots()[-1].service == "vllm-1"


def test_a_table_within_a_log_names_no_services(read_text: ReadText) -> None:
    table = "GPU  | 0\nName | GB10\n"
    boots = read_text("".join(BOOT[:20]) + table * 40 + "".join(BOOT[20:])).boots
    assert [boot.service for boot in boots] == [""]


def test_each_server_is_followed_to_its_end() -> None:
    reader = LogReader(INDEX, "log")
    for line in _interleaved(FORMS["compose"]).splitlines(keepends=True):
        reader.feed([line.encode()])
    assert reader.decided
    assert reader.state.startswith("chat-1: vllm 0.26.0: ")
    reader.finish()
    outcomes = {boot.service: boot.outcome for boot in reader.reading().last_boots()}
    assert outcomes["em-1"] is Outcome.FAILED


def test_hardly_any_number_of_services_is_kept_apart(read_text: ReadText) -> None:
    text = "".join(
        f"s{n}-1 | (APIServer pid=1) INFO 11-29 20:41:25 [a.py:1] x\n" for n in range(99)
    )
    assert len(read_text(text).boots) == 32
