"""What is taken for a log, and what only talks of one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.usecases.log import read_boots


class Text:
    """A source that holds a text."""

    name = "text"

    def __init__(self, text: str) -> None:
        self._text = text

    def chunks(self, *, follow: bool = False) -> Iterator[bytes]:
        del follow
        yield self._text.encode()


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
