"""A page holds what it is given: nothing lost, nothing wider than it, nothing pasted broken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkproof.render.lines import Cell, paragraph_of, table
from sparkproof.render.lines import folded as fold_all
from sparkproof.render.page import Line, Span, Style, Verbatim, fold, page_of, page_width, text_of

PROSE = st.text("ab /,_.-", max_size=200)


def shown(lines: list[Line]) -> list[str]:
    return [text_of(item).rstrip() for item in lines]


@given(PROSE, PROSE, st.integers(10, 60))
def test_folding_keeps_every_character_and_its_style(first: str, second: str, width: int) -> None:
    spans = (Span(first), Span(second, Style.BAD))
    pieces = fold(spans, width)
    assert all(len(text.rstrip()) <= width for text in map(text_of, pieces))
    for style, given_text in ((Style.PLAIN, first), (Style.BAD, second)):
        kept = "".join(s.text for piece in pieces for s in piece if s.style is style)
        assert kept.replace(" ", "") == given_text.replace(" ", "")


@given(st.lists(st.lists(PROSE, min_size=1, max_size=4), min_size=1, max_size=5))
def test_a_table_is_as_wide_as_the_page_at_most(rows: list[list[Cell]]) -> None:
    with page_of(70):
        lines = shown(table(rows))
    assert all(len(text) <= 70 for text in lines)
    given_text = "".join(str(cell) for row in rows for cell in row)
    assert sorted("".join(lines).replace(" ", "")) == sorted(given_text.replace(" ", ""))


def test_a_line_goes_on_under_what_follows_its_first_word() -> None:
    told = (Span("  warning  "), Span("one two three four five six seven eight nine ten eleven"))
    with page_of(60):
        lines = shown(list(fold_all([told])))
    assert lines == [
        "  warning  one two three four five six seven eight nine ten",
        "           eleven",
    ]


def test_a_line_that_begins_far_to_the_right_ends_too() -> None:
    told = (Span(" " * 5000), Span("x y " * 500))
    lines = shown(list(fold_all([told])))
    assert all(len(text) <= 100 for text in lines)
    assert "".join(lines).replace(" ", "") == "xy" * 500


def test_what_is_to_be_pasted_stays_in_one_line() -> None:
    command = Verbatim("sparkproof " + "word " * 40)
    assert list(fold_all([(command,)])) == [(command,)]
    (row,) = table([("a", command)])
    assert command in row


def test_cells_go_on_below_and_the_narrow_ones_stay_whole() -> None:
    with page_of(60):
        lines = shown(table([("taken", "x" * 30, "one two three four five six seven")]))
    assert lines == [
        f"  taken  {'x' * 30}  one two three four",
        f"  {' ' * 5}  {' ' * 30}  five six seven",
    ]


def test_a_page_has_a_least_width_and_a_usual_one() -> None:
    assert page_width() == 100
    with page_of(3):
        assert page_width() == 60
        assert all(len(text) <= 60 for text in shown(paragraph_of("word " * 40)))
