"""A text is told from what a broken model writes, whatever it says."""

from __future__ import annotations

import pytest

from sparkproof.formats.text_form import salad_scripts, text_faults

SOUND = {
    "a rule": "Above\n" + "-" * 72 + "\nbelow",
    "a rule in a line": "In Markdown: " + "-" * 72 + "\n| a | b |",
    "a heading": "Title\n" + "=" * 60 + "\nText follows here.",
    "a box of marks": "#" * 80 + "\n# config\n" + "#" * 80,
    "a table": "| a | b |\n|" + "-" * 40 + "|" + "-" * 40 + "|\n| 1 | 2 |",
    "indentation": "def f():\n" + " " * 80 + "return 1",
    "a list of zeros": "[" + "0, " * 23 + "0]",
    "a list of nulls": "[" + "null, " * 23 + "null]",
    "a large number": "That makes 1" + "0" * 15,
    "a stretched word": "N" + "o" * 20,
    "dots that lead": "Chapter 1 " + "." * 40 + " 5",
    "labels with odd ones": ("no\n" * 9 + "yes\n") * 4,
    "labels in a row": "H H H H T H H H " * 6 + "T",
    "labels with commas": "true,true,true,true,false," * 8 + "true",
    "bits with odd ones": ("0001" * 9 + "11") * 4,
    "a laugh": "ha-ha-ha-ha-ha-ha, she said",
    "quoted letters": "the letters 's', 't', 's', 's', 's' and 't' in that order",
    "clitics of words": "it's Ann's, that's Tom's and what's left isn't anybody's; he's sure it's",
    "a refrain": "Na, na na, nananana, nananana, hey Jude\n" * 8,
    "a sequence": "ATATATATCGCGATATATAT" * 3,
    "nothing": "",
    "languages with marks": "Привет (Russian), สวัสดี (Thai), こんにちは (Japanese), שלום, 你好",
    "languages in a sentence": "say Привет in Russian and สวัสดี in Thai and שלום in Hebrew",
    "two scripts": "今日は vLLM の新しい kernel を試した。とても fast です。",
}


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("cut", [True, False])
def test_runs_that_texts_have(name: str, cut: bool) -> None:
    assert text_faults(SOUND[name], cut=cut) == ()


GARBAGE = {
    "one token": "!" * 40,
    "a word": "the " * 17 + "the",
    "a fragment": "'s" * 20,
    "digits": "Sure! Here is the answer: 0.22" + ".0" * 22,
    "a piece that does not fit the end": "abc " * 20 + "ab",
    "replacement characters": "\ufffd" * 40,
    "a rule without end": "-" * 500,
    "a word, then a little more": "the " * 40 + "\n\nSo",
    "a fragment with odd ones": "'s's's't's's's" * 8,
    "few fragments": "'s's's't's's's",
    "a tag with odd ones": ("</s>" * 5 + "\n") * 8,
    "many scripts": "กข ключ 数据 kjh зы的 ขา лор ก้ קר של ال في 다 는 を は في が зы ตะ",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_broken_models_write(name: str) -> None:
    assert text_faults(GARBAGE[name])


def test_a_rule_at_the_end_is_one_unless_the_budget_ended_it() -> None:
    rule = "-" * 100
    assert text_faults(rule, cut=False) == ()
    assert text_faults(rule, cut=True)


def test_scripts_are_counted_only_where_they_are_mixed() -> None:
    assert salad_scripts(GARBAGE["many scripts"]) == 7
    assert salad_scripts(SOUND["languages in a sentence"]) == 0
