"""Errors carry their place, and become answers."""

from __future__ import annotations

from sparkproof.core.errors import ExitCode, FormatError, UnreachableError, UsageError
from sparkproof.core.finding import Evidence
from sparkproof.core.unknown import Unknown


def test_the_message_leads_with_the_place() -> None:
    assert str(FormatError("bad magic", where="a.so", offset=16)) == "a.so@0x10: bad magic"
    assert str(FormatError("no table", where="d.toml", line=3)) == "d.toml:3: no table"
    assert str(FormatError("bad magic")) == "bad magic"


def test_the_place_grows_outwards() -> None:
    error = FormatError("bad magic", where="a.so", offset=0, hint="h").within("x.whl")
    assert str(error) == "x.whl!a.so@0x0: bad magic"
    assert str(FormatError("bad magic", line=2).within("x.whl")) == "x.whl:2: bad magic"
    assert (error.reason, error.offset, error.hint) == ("bad magic", 0, "h")


def test_each_error_ends_in_its_exit_code() -> None:
    assert UsageError("x", hint="y").exit_code is ExitCode.USAGE
    assert UnreachableError("x", hint="y").exit_code is ExitCode.COULD_NOT_LOOK
    assert FormatError("x").exit_code is ExitCode.COULD_NOT_LOOK


def test_a_parsers_complaint_becomes_an_unknown_with_coordinates() -> None:
    error = FormatError("bad magic", where="a.so", offset=16, hint="h")
    assert Unknown.from_error(error, "devicecode") == Unknown(
        "a.so@0x10", "bad magic", "devicecode", "h"
    )
    assert Unknown.from_error(FormatError("x", where="f", line=2), "t").where == "f:2"


def test_evidence_names_its_place() -> None:
    assert Evidence("f.py", "x", line=7).place == "f.py:7"
    assert Evidence("f.so", "x", offset=255).place == "f.so@0xff"
    assert Evidence("f.so", "x").place == "f.so"
