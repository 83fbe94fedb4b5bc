"""The quick look-up finds what a plain search finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.bootlog.probes import signature_probes
from sparkproof.facts.book import signatures
from sparkproof.facts.log_book import log_lines
from sparkproof.formats.vllm_log.headers import parse_line
from sparkproof.formats.vllm_log.phrases import PhraseIndex, split_exception

LOGS = Path(__file__).parents[2] / "data" / "logs"
WORDINGS = log_lines()
PROBES = signature_probes(signatures().values())
INDEX = PhraseIndex(WORDINGS, PROBES)


def _lines() -> list[bytes]:
    texts = [e for w in WORDINGS for e in w.examples]
    texts += [e.text for s in signatures().values() for e in (*s.examples, *s.neighbours)]
    lines = [line.encode() for text in texts for line in text.splitlines()]
    for path in sorted(LOGS.glob("*.log")):
        lines += path.read_bytes().split(b"\n")
    return lines


def test_nothing_is_overlooked() -> None:
    for line in _lines():
        if len(line) > 4000 or (b"DEBUG " in line[:200] and b"since" not in line):
            continue
        interest = INDEX.look_up(line)
        text = line.decode("utf-8", "replace")
        wanted = {i for i, w in enumerate(WORDINGS) if w.has in text}
        asked = {i for i, p in enumerate(PROBES) if p.phrase.has in text}
        assert wanted <= set(interest.wordings if interest else ()), text
        assert asked <= set(interest.probes if interest else ()), text


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory.",
            ("OutOfMemoryError", "CUDA out of memory."),
        ),
        ("AssertionError", ("AssertionError", "")),
        ("subprocess.CalledProcessError: Command", ("CalledProcessError", "Command")),
        ("    raise ValueError(", None),
        ("an Error: in the middle", None),
        ("no Error", None),
    ],
)
def test_the_last_line_of_a_traceback(line: str, found: tuple[str, str] | None) -> None:
    assert split_exception(line) == found


def test_a_header_is_found_behind_anything() -> None:
    line = b"junk (Worker_TP0_EP1 pid=12, ip=10.0.0.1) ERROR 2026-11-29 20:42:11,123 [a/b.py:7] hm"
    record = parse_line(line)
    assert record == ("Worker_TP0_EP1", "ERROR", "2026-11-29 20:42:11", "hm")
