"""Natural prompts of a wanted length that no prefix cache has seen.

Plain English from a small grammar, since a drafter hates random tokens and a prefix cache loves
fixed ones. Each prompt begins with its own mark, so that no block of it is shared.
"""

from __future__ import annotations

import hashlib
import random

_WHO = [
    "the miller",
    "a young ferryman",
    "our neighbour",
    "the clock maker",
    "her aunt",
    "an old engineer",
]
_DID = [
    "repaired",
    "looked after",
    "wrote about",
    "painted",
    "sold",
    "carried",
    "measured",
    "forgot",
]
_WHAT = [
    "the wooden bridge",
    "a box of letters",
    "the long ladder",
    "three barrels of oil",
    "the garden wall",
    "a map of the valley",
    "the last lamp in the street",
    "a small printing press",
]
_WHEN = [
    "early in the morning",
    "before the rain came",
    "in the second week of May",
    "after supper",
    "by night",
]
_WHY = [
    "because the road to the village was closed",
    "since nobody else had the time",
    "so that the children could cross safely",
    "although the price had doubled",
    "and told everyone in the market about it",
    "without asking for any help",
]
_ASK = (
    "Tell the story so far in your own words, then go on with it at length: who comes next, "
    "what they want, and how it ends."
)

ASK_WORDS = _ASK.count(" ") + 1


def compose(words: int, seed: str, *, ask: bool = False) -> str:
    """English prose of `words` words that begins with a mark made from `seed`.

    Args:
        words: exactly, the mark's two included and the request's not.
        seed: the same seed gives the same text.
        ask: end with a request to go on at length.
    """
    mark = hashlib.sha256(seed.encode()).hexdigest()[:12]
    pick = random.Random(seed)  # noqa: S311 - prose, not keys
    prose = ["Note", f"{mark}."]
    while len(prose) < words:
        who = pick.choice(_WHO)
        rest = (pick.choice(_DID), pick.choice(_WHAT), pick.choice(_WHEN), pick.choice(_WHY))
        prose += f"{who[0].upper()}{who[1:]} {' '.join(rest)}.".split()
    text = " ".join(prose[: max(2, words)])
    return f"{text} {_ASK}" if ask else text


def words_for(tokens: int, sample_words: int, sample_tokens: int) -> int:
    """How many words give about `tokens` tokens, from one sample's counts."""
    return max(4, round(tokens * sample_words / max(1, sample_tokens)))
