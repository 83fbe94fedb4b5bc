"""Two answers that part: rounding, a fault, or nobody can tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest
from tests.unit.load.test_observe import LIVE

from sparkproof.core.ab import Divergence, DivergenceClass, Effect, Score
from sparkproof.gates.ab_divergence import compare_answers, count_classes, effect_of
from sparkproof.gates.ab_scorers import score_json
from sparkproof.gates.ab_statistics import mcnemar_p

IDENTICAL, TIE = DivergenceClass.IDENTICAL, DivergenceClass.NEAR_TIE
CORRUPTION, UNKNOWN = DivergenceClass.CORRUPTION, DivergenceClass.UNKNOWN


class Token(NamedTuple):
    id: int
    nats: float | None = None
    top: tuple[tuple[int, float], ...] = ()


def _plain(*ids: int) -> list[Token]:
    return [Token(n) for n in ids]


def _kind(control: list[Token], treatment: list[Token]) -> tuple[DivergenceClass, int]:
    found = compare_answers(control, treatment)
    back = compare_answers(treatment, control)
    assert (back.kind, back.at) == (found.kind, found.at)
    return found.kind, found.at


def _top(place: list[tuple[int, float]]) -> Token:
    """What a greedy server says at a place of which the likeliest tokens are known."""
    token, nats = max(place, key=lambda pair: pair[1])
    return Token(token, nats, tuple(place))


def _recorded(name: str) -> Any:
    return msgspec.json.decode((LIVE / name).read_bytes())


def test_other_kernels_part_at_near_ties() -> None:
    """CUDA graphs against eager: the same weights, sums in another order, 4 of 20 places."""
    places = _recorded("other-kernels-h200.json")
    pairs = list(zip(places["graphs"], places["eager"], strict=True))
    kinds = [_kind([_top(a)], [_top(b)])[0] for a, b in pairs]
    assert (kinds.count(IDENTICAL), kinds.count(TIE)) == (16, 4)
    silent = [compare_answers([_top(a)], _plain(_top(b).id)).kind for a, b in pairs]
    assert silent == kinds  # one arm that tells is enough


def test_fp8_weights_part_further_and_corrupt_nothing() -> None:
    places = _recorded("other-kernels-h200.json")
    pairs = zip(places["graphs"], places["fp8"], strict=True)
    kinds = [_kind([_top(a)], [_top(b)])[0] for a, b in pairs]
    assert [kinds.count(kind) for kind in (IDENTICAL, TIE, UNKNOWN)] == [13, 5, 2]


def test_nobody_can_tell_what_ids_alone_do_not_say() -> None:
    """MTP drafts on a hybrid with random weights: other answers to 12 of 20, and no more known."""
    ids = _recorded("mtp-hybrid-ids.json")
    answers = {arm: [_plain(*answer) for answer in found] for arm, found in ids.items()}

    def against_control(arm: str) -> list[DivergenceClass]:
        both = zip(answers["control"], answers[arm], strict=True)
        return [_kind(one, other)[0] for one, other in both]

    assert against_control("control-8") == [IDENTICAL] * 20
    found = against_control("mtp")
    assert (found.count(IDENTICAL), found.count(UNKNOWN)) == (8, 12)


def test_a_sure_token_that_is_replaced_is_corruption() -> None:
    dot = Token(20, -0.0001, ((20, -0.0001), (276, -9.5)))
    quote = Token(276, -0.02, ((276, -0.02), (20, -4.1)))
    assert _kind([dot], [quote]) == (CORRUPTION, 0)
    assert _kind([dot], _plain(276)) == (CORRUPTION, 0)


def test_a_rival_that_is_not_even_listed_is_bounded() -> None:
    sure = Token(20, -0.0001, ((20, -0.0001), (7, -9.5)))
    found = compare_answers([sure], _plain(276))
    assert found.kind is CORRUPTION
    assert found.control is not None
    assert found.control.bounded
    assert found.control.other_nats is not None
    assert found.control.other_nats <= -9.5
    torn = Token(20, -1.2, ((20, -1.2), (7, -1.3)))
    assert _kind([torn], _plain(276)) == (UNKNOWN, 0)


def test_an_emitted_token_that_its_own_arm_did_not_want() -> None:
    # drafts accepted without a look: the distribution is the control's, the token is not
    wanted = ((20, -0.01), (276, -6.0))
    assert _kind([Token(20, -0.01, wanted)], [Token(276, -6.0, wanted)]) == (CORRUPTION, 0)


def test_neither_a_tie_nor_sure() -> None:
    torn = Token(1, -0.3, ((1, -0.3), (2, -1.4)))
    assert _kind([torn], _plain(2)) == (UNKNOWN, 0)
    assert "neither" in compare_answers([torn], _plain(2)).why


def test_the_end_is_a_difference() -> None:
    sure = Token(3, -0.001, ((3, -0.001), (9, -8.0)))
    assert _kind([*_plain(1, 2), sure], _plain(1, 2)) == (CORRUPTION, 2)
    torn = Token(3, -0.7, ((3, -0.7), (9, -0.8)))
    assert _kind([*_plain(1, 2), torn], _plain(1, 2)) == (UNKNOWN, 2)


def test_without_ids_or_log_probabilities_nobody_can_tell() -> None:
    assert _kind(_plain(1, 2), _plain(1, 3)) == (UNKNOWN, 1)
    assert _kind([], []) == (UNKNOWN, 0)
    assert _kind([], _plain(1)) == (UNKNOWN, 0)
    assert _kind(_plain(1, 2), _plain(1, 2)) == (IDENTICAL, -1)


@pytest.mark.parametrize(
    ("control", "treatment", "effect"),
    [
        (True, True, Effect.BOTH_RIGHT),
        (True, False, Effect.BROKE),
        (False, True, Effect.MENDED),
        (False, False, Effect.BOTH_WRONG),
    ],
)
def test_what_became_of_the_task(control: bool, treatment: bool, effect: Effect) -> None:
    assert effect_of(Score(control), Score(treatment)) is effect
    assert effect_of(None, Score(treatment)) is Effect.UNSCORED


def _extraction(version: str) -> tuple[str, str]:
    right = '{"name": "vllm", "version": "2.11.0"}'
    return right, right.replace("2.11.0", version)


def test_twenty_of_twenty_against_none() -> None:
    """Drafting by n-gram in the field: 20 of 20 extractions right without it, 0 of 20 with it."""
    dot = Token(20, -0.0002, ((20, -0.0002), (276, -9.0)))
    pairs: list[tuple[Divergence, Effect]] = []
    for _ in range(20):
        right, wrong = _extraction("2.11")  # the last part goes, the JSON stays valid
        effect = effect_of(score_json(right, right), score_json(wrong, right))
        pairs.append((compare_answers([dot], [Token(276, -0.1, ((276, -0.1),))]), effect))
    rows = {row.kind: row for row in count_classes((d.kind, effect) for d, effect in pairs)}
    assert (rows[CORRUPTION].count, rows[CORRUPTION].broke) == (20, 20)
    share = rows[CORRUPTION].share
    assert share is not None
    assert share.low > 0.83
    assert mcnemar_p(20, 0) < 1e-6


def test_a_harmless_divergence_keeps_the_score() -> None:
    right, other = _extraction("2.11.0")
    spaced = other.replace(": ", ":")  # another token, the same JSON
    effect = effect_of(score_json(right, right), score_json(spaced, right))
    tied, rival = Token(5, -1.0, ((5, -1.0), (6, -1.06))), Token(6, -1.0, ((6, -1.0), (5, -1.06)))
    seen = [(compare_answers([tied], [rival]).kind, effect)] * 2
    rows = {row.kind: row for row in count_classes(seen)}
    assert effect is Effect.BOTH_RIGHT
    assert (rows[TIE].count, rows[TIE].broke, rows[CORRUPTION].count) == (2, 0, 0)
    assert all(row.share is None for row in count_classes([]))
