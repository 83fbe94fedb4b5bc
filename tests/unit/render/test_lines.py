"""Lines and tables."""

from __future__ import annotations

from sparkproof.render.lines import Span, Style, heading, line, plain_text, table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = table([("a", "1", "x"), ("bbb", "22", "yy")], right=frozenset({1}))
    assert plain_text(rows) == "  a     1  x\n  bbb  22  yy\n"


def test_rows_may_differ_in_length() -> None:
    assert plain_text(table([("a",), ("b", "c")], indent=0)) == "a\nb  c\n"
    assert table([]) == []


def test_no_trailing_spaces_and_no_control_characters() -> None:
    assert plain_text([line("a  ", Span("\x1b[2J\n", Style.BAD)), line()]) == "a  \\x1b[2J\\n\n\n"
    assert plain_text([heading("select"), heading("select", "x")]) == "select\nselect  x\n"
