"""Logs, and a reader with the whole catalogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sparkproof.bootlog.diagnosis import diagnose
from sparkproof.bootlog.probes import signature_probes
from sparkproof.core.observations.boot_log import BootLog, LogReading
from sparkproof.core.results.log import Diagnosis
from sparkproof.facts.book import signatures
from sparkproof.facts.log_book import log_lines
from sparkproof.formats.vllm_log.phrases import PhraseIndex
from sparkproof.formats.vllm_log.reader import read_log

LOGS = Path(__file__).parents[2] / "data" / "logs"
INDEX = PhraseIndex(log_lines(), signature_probes(signatures().values()))

ReadText = Callable[[str], LogReading]
DiagnoseText = Callable[[str], Diagnosis]


def read_file(name: str) -> BootLog:
    return read_log([(LOGS / name).read_bytes()], INDEX, name).boots[-1]


@pytest.fixture(scope="session")
def read_text() -> ReadText:
    return lambda text: read_log([text.encode()], INDEX, "log")


@pytest.fixture(scope="session")
def diagnose_text(read_text: ReadText) -> DiagnoseText:
    return lambda text: diagnose(read_text(text).boots[-1], signatures().values(), "log")
