"""What is taken for a log, and what only talks of one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.facts.log_book import log_lines
from sparkproof.facts.log_schema import LogLine
from sparkproof.usecases.log.command import read_boots


class Text:
    """A source that holds a text."""

    name = "text"

    def __init__(self, text: str | bytes) -> None:
        self._data = text if isinstance(text, bytes) else text.encode()

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        del follow
        yield self._data


@pytest.mark.parametrize(
    "text",
    [
        'about = ["nvcc", "FlashInfer"]\n',
        "flashinfer-python with nvcc and ninja is what the box needs\n",
        "dependencies = [\n    'ninja',\n]\n",
    ],
)
def test_words_that_any_text_has_make_no_log(text: str) -> None:
    with pytest.raises(FormatError, match="no line of this"):
        read_boots(Text(text))


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: no kernel image is available for execution on the device",
        "Available KV cache memory: 7.15 GiB",
        "INFO 09-01 10:00:00 [x.py:1] a message that nobody knows",
        "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
    ],
)
def test_one_line_that_says_something_is_enough(text: str) -> None:
    assert read_boots(Text(text)).lines == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x1f\x8b\x08\0Address already in use\n", "this is gzip-compressed, not a log"),
        (b"\x7fELF\x02\0\0OSError: [Errno 98] Address already in use\n", "program or library"),
        (b"\0\x01OSError: [Errno 98] Address already in use\n\0\x02\0", "this is binary data"),
        ("CUDA error: no kernel image\n".encode("utf-16"), "this is text in UTF-16"),
        (b'"finish_reason":"length"\n', "this is of a server's answer"),
    ],
)
def test_a_file_of_another_kind_is_told_by_its_name(data: bytes, told: str) -> None:
    with pytest.raises(FormatError, match=told.replace("(", "[(]")):
        read_boots(Text(data))


OTHERS = [line for line in log_lines() if line.event == "other"]


@pytest.mark.parametrize("item", OTHERS, ids=lambda item: item.id)
def test_another_engines_log_gets_no_advice(item: LogLine) -> None:
    failed = "torch.AcceleratorError: CUDA error: no kernel image is available for execution\n"
    for example in item.examples:
        with pytest.raises(FormatError, match=f"this is {item.why}'s log"):
            read_boots(Text(f"{example}\n{failed}"))
        beside = "(APIServer pid=1) INFO 11-29 20:41:25 [api_server.py:1] started\n"
        assert read_boots(Text(f"{beside}{example}\n{failed}")).boots


CLIENTS = [line for line in log_lines() if line.event == "client"]


@pytest.mark.parametrize("item", CLIENTS, ids=lambda item: item.id)
def test_what_asks_a_server_prints_no_log(item: LogLine) -> None:
    sampling = "INFO 11-29 20:43:14 [utils.py:90] Sampling input_len from [512, 512]\n"
    for example in item.examples:
        with pytest.raises(FormatError, match=f"this is what {item.why} prints"):
            read_boots(Text(f"{sampling}{example}\n"))
        beside = "(APIServer pid=1) INFO:     Application startup complete.\n"
        assert read_boots(Text(f"{beside}{sampling}{example}\n")).boots
