"""Lines of a stream, whatever ends them and wherever it is cut into chunks."""

import pytest

from sparkproof.formats.vllm_log.lines import LineCutter

_RECORD = b"INFO 11-30 05:00:00 [core.py:1] "
_PLAIN = [_RECORD + b"one", b"Traceback (most recent call last):", _RECORD + b"two"]


def _lines(data: bytes, step: int) -> list[bytes]:
    cutter = LineCutter()
    chunks = [data[n : n + step] for n in range(0, len(data), step)]
    batches = [*cutter.split(chunks), *cutter.flush()]
    return [line for batch in batches for line in batch]


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("end", [b"", b"\r"])
def test_carriage_returns_end_the_lines_of_a_stream_without_newlines(end: bytes, step: int) -> None:
    assert _lines(b"\r".join(_PLAIN) + end, step) == _PLAIN


@pytest.mark.parametrize("step", [1, 5000, 1 << 20])
def test_a_long_stream_without_newlines_is_cut_alike_in_any_chunks(step: int) -> None:
    assert _lines(b"\r".join(_PLAIN * 400), step) == _PLAIN * 400


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_a_record_behind_a_progress_bar_is_a_line_of_its_own(step: int) -> None:
    bar = b"Loading: 10%\rLoading: 90%\r(EngineCore pid=7) " + _RECORD + b"three\nrest\n"
    found = _lines(bar, step)
    assert found == [bar.split(b"\r(")[0], b"(EngineCore pid=7) " + _RECORD + b"three", b"rest"]


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_newlines_end_lines_as_ever(step: int) -> None:
    assert _lines(b"a\r\nb 10%\rb 20%\n\nc", step) == [b"a\r", b"b 10%\rb 20%", b"", b"c"]
