"""A file kept beside a log is refused by name where it is of another kind, never called empty."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.usecases.log.pieces import read_kernel, read_metrics, read_pressure

_KERNEL = b"[  12.345678] Out of memory: Killed process 7 (vllm) total-vm:1kB\n"
_METRICS = b'# HELP x\nvllm:num_requests_running{model_name="m"} 1.0\n'
_PRESSURE = b"some avg10=1.00 avg60=0.00 avg300=0.00 total=1\n"
_READERS: dict[str, tuple[Callable[[Path | None], object], bytes]] = {
    "kernel": (read_kernel, _KERNEL),
    "metrics": (read_metrics, _METRICS),
    "pressure": (read_pressure, _PRESSURE),
}


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "kept"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", _READERS)
def test_the_right_file_is_read(kind: str, tmp_path: Path) -> None:
    read, data = _READERS[kind]
    assert read(_file(tmp_path, data))
    assert not read(None)


@pytest.mark.parametrize("kind", _READERS)
def test_a_compressed_file_is_refused_with_the_way_out(kind: str, tmp_path: Path) -> None:
    read, data = _READERS[kind]
    with pytest.raises(FormatError, match="gzip-compressed, not text") as caught:
        read(_file(tmp_path, gzip.compress(data)))
    assert caught.value.hint == "zcat FILE > FILE.txt, and give that"


@pytest.mark.parametrize(
    ("kind", "other"),
    [(a, b) for a in _READERS for b in (*_READERS, "binary", "prose") if a != b],
)
def test_another_kind_of_file_is_refused(kind: str, other: str, tmp_path: Path) -> None:
    strange = {"binary": bytes(range(32)) * 9, "prose": b"nothing of the sort\n"}
    data = strange[other] if other in strange else _READERS[other][1]
    with pytest.raises(FormatError, match="kept: ") as caught:
        _READERS[kind][0](_file(tmp_path, data))
    assert caught.value.hint


def test_a_kernel_that_said_nothing_is_a_kernel_log(tmp_path: Path) -> None:
    assert read_kernel(_file(tmp_path, b"-- No entries --\n")) == ()
    assert read_kernel(_file(tmp_path, b"")) == ()
