"""What a text looks like, whatever it says: a piece without end, characters of no text, word salad.

Long runs are no fault by themselves: rules of tables, headings, indentation and lists of equal
values are runs too, and a model that writes them goes on with something else. A broken one does
not stop, or stops for one odd token and goes on with the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

_RUN = re.compile(r"(.{1,12}?)\1{11,}", re.DOTALL)
_REPEATS = 12
_LAYOUT = frozenset(" \t\n\r-_=*#~.+|:/\\<>^·•─━═│┃║┼╋╬░▒▓█")
_LAYOUT_CHARS = 80
_LAYOUT_STOPPED_CHARS = 400
_STRETCHED_CHARS = 30
_STUTTER = re.compile(r"(.{1,12}?)\1{2,}", re.DOTALL)
_STUTTER_CHARS = 8000
_STUTTER_SHARE = 0.8
_BETWEEN_VALUES = frozenset(" \t\n\r,;|")
_CLITICS = re.compile(r"(?:['\u2019](?:s|t|m|d|n|re|ve|ll)(?!\w)){5,}")
"""What hangs on a word, and never on another of its kind."""
_CLITICS_SHARE = 0.5
_CLOSERS = {"]": "[", ")": "(", "}": "{", '"': '"', "'": "'", "`": "`"}
_ODD_SHARE = 0.05
_SALAD_CHARS = 8000
_SALAD_SCRIPTS = 3
_SALAD_SWITCHES = 6
_SALAD_SHARE = 0.15
_ONE_SCRIPT = {"CJK": "HAN", "HIRAGANA": "HAN", "KATAKANA": "HAN", "HALFWIDTH": "HAN"}
"""Scripts that one language mixes."""
_NO_SCRIPT = frozenset({"LATIN", "FULLWIDTH", "MODIFIER", "MATHEMATICAL", "GREEK"})
"""Scripts of terms and formulas, which stand in any text."""


def text_faults(text: str, *, cut: bool = True, repeats: int = _REPEATS) -> tuple[str, ...]:
    """What is wrong with a text's form, in words; empty for a sound one.

    Args:
        cut: it ended at its budget, not by itself.
        repeats: of one piece, below which it is no run.
    """
    faults = []
    if (share := odd_share(text)) > _ODD_SHARE:
        faults.append(f"{share:.0%} of its characters belong to no text")
    if piece := endless_piece(text, cut=cut, repeats=repeats):
        faults.append(f"`{piece[:12]}` without end")
    elif piece := stuttered_piece(text, repeats=repeats):
        faults.append(f"`{piece}` again and again, and next to nothing else")
    if scripts := salad_scripts(text):
        faults.append(f"words of {scripts} scripts side by side")
    return tuple(faults)


def odd_share(text: str) -> float:
    """Characters that no text holds (controls, U+FFFD, private use), of all."""
    return sum(map(_is_odd, text)) / len(text) if text else 0.0


def _is_odd(c: str) -> bool:
    return (not c.isprintable() and c not in "\n\t\r\u00a0") or c == "\ufffd"


def endless_piece(text: str, *, cut: bool = True, repeats: int = _REPEATS) -> str:
    """The piece of at most 12 characters that repeats without end, "" for none."""
    text = text.strip()
    for found in _RUN.finditer(text):
        piece = found[1]
        if (found.end() - found.start()) // len(piece) >= repeats and _endless(text, found, cut):
            return piece
    return ""


def runs_from(text: str, piece: str) -> int:
    """Where the run of that piece begins."""
    return text.strip().find(piece * _REPEATS)


def stuttered_piece(text: str, *, repeats: int = _REPEATS) -> str:
    """The piece that makes up nearly all of a text, with odd tokens between its runs.

    Pieces with a blank or a comma are values of a list, which has runs and odd ones too; so are
    digits. What is left is glued together as no text is.
    """
    text = text.strip()[-_STUTTER_CHARS:]
    clitics = sum(len(found[0]) for found in _CLITICS.finditer(text))
    if text and clitics >= _CLITICS_SHARE * len(text):
        return text[:2]
    covered: Counter[str] = Counter()
    first: dict[str, str] = {}
    for found in _STUTTER.finditer(text):
        piece = found[1]
        turned = min(piece[n:] + piece[:n] for n in range(len(piece)))
        covered[first.setdefault(turned, piece)] += len(found[0])
    for piece, chars in covered.most_common(1):
        much = chars >= _STUTTER_SHARE * len(text) and chars >= 2 * repeats * len(piece)
        glued = _BETWEEN_VALUES.isdisjoint(piece) and any(c.isalpha() for c in piece)
        if much and glued and not piece.isalnum():
            return piece
    return ""


def _endless(text: str, run: re.Match[str], cut: bool) -> bool:
    """Whether a run of the stripped text is without end.

    What is around it is looked at for runs of half the text only, of which there are two at most:
    a text of runs stays as cheap as any other.
    """
    piece, size = run[1], run.end() - run.start()
    lengths = range(len(piece), -1, -1)
    after = run.end() + next(n for n in lengths if text.startswith(piece[:n], run.end()))
    last = after == len(text)
    most = 2 * size >= len(text)
    if _LAYOUT.issuperset(piece):
        return last and most and size >= (_LAYOUT_CHARS if cut else _LAYOUT_STOPPED_CHARS)
    if last:
        return not (piece.isalnum() and len(piece) == 1) or size >= _STRETCHED_CHARS
    words = any(c.isalpha() for c in piece) or not piece.strip(" !?\ufffd")
    return most and words and not _is_closed(text[: run.start()] + piece, text[after:].lstrip())


def _is_closed(before: str, rest: str) -> bool:
    """A list or string of equal values, opened before the run and closed behind it."""
    opener = _CLOSERS.get(rest[0], "")
    return bool(opener) and opener in before


def salad_scripts(text: str) -> int:
    """How many scripts are mixed word by word as no language mixes them; 0 where none are.

    Only neighbours without any mark between them count: lists of languages have one, or a word of
    the language they stand in.
    """
    if text.isascii():
        return 0
    pieces = list(_pieces(text[:_SALAD_CHARS]))
    seen = {script for script, _ in pieces} - _NO_SCRIPT
    switches = sum(
        bare and script != before and script not in _NO_SCRIPT and before not in _NO_SCRIPT
        for (before, _), (script, bare) in pairwise(pieces)
    )
    mixed = switches >= max(_SALAD_SWITCHES, _SALAD_SHARE * len(pieces))
    return len({script for script, _ in pieces}) if mixed and len(seen) >= _SALAD_SCRIPTS else 0


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Letters of one script that stand together, and whether nothing but a blank is before them."""
    before, bare = "", False
    for c in text:
        if unicodedata.category(c)[0] == "M":
            continue
        if c.isalpha():
            script = _script(c)
            if script != before:
                yield script, bare
            before, bare = script, True
        else:
            before = ""
            bare = bare and c == " "


def _script(c: str) -> str:
    word = unicodedata.name(c, "UNKNOWN").partition(" ")[0].partition("-")[0]
    return _ONE_SCRIPT.get(word, word)
