"""A bar on a terminal, silence elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from sparkproof.adapters.progress import NoProgress, TerminalProgress, make_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(make_progress(), NoProgress)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(make_progress(), TerminalProgress)
    assert isinstance(make_progress(quiet=True), NoProgress)
    closed = Terminal()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert make_progress(quiet=True)


def test_the_bar_names_what_it_does_and_stays_off_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    bar = TerminalProgress()
    bar.advance(1)
    bar.start("fetching [x].whl", 100)
    bar.advance(50)
    bar.finish()
    bar.finish()
    assert "fetching [x].whl" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    silent = NoProgress()
    silent.start("x", 1)
    silent.advance(1)
    silent.finish()
    assert capfd.readouterr() == ("", "")
