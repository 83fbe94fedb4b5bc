"""Laws of the A/B gate: statistics keep their order, a class its reasons, a file its strictness."""

from __future__ import annotations

import contextlib
import json
import math
from typing import NamedTuple

import msgspec
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sparkproof.core.ab import Divergence, DivergenceClass
from sparkproof.core.errors import FormatError
from sparkproof.gates.ab_divergence import classify, compare_answers, count_classes, effect_of
from sparkproof.gates.ab_scorers import SCORERS, fault_of_expected, tool_call_text
from sparkproof.gates.ab_statistics import (
    clopper_pearson,
    detectable_rate,
    mcnemar_p,
    paired_difference,
    power_at,
    prompts_needed,
    speed_ratio,
)
from sparkproof.gates.ab_task_file import parse_tasks
from sparkproof.gates.ab_tasks import Form, bundled_tasks
from sparkproof.gates.exact import beta_share, t_quantile

_RATE = st.floats(0.02, 0.4)
_NOISE = st.one_of(st.just(0.0), st.floats(0.001, 0.1))
_SPEED = st.floats(1e-3, 1e6)


@given(st.floats(0.5, 400), st.floats(0.5, 400), st.floats(0, 1), st.floats(0, 1))
def test_the_beta_share_rises_and_mirrors(a: float, b: float, x: float, y: float) -> None:
    low, high = sorted((x, y))
    assert 0.0 <= beta_share(a, b, low) <= beta_share(a, b, high) + 1e-9 <= 1.0 + 1e-9
    assert math.isclose(beta_share(a, b, x), 1 - beta_share(b, a, 1 - x), abs_tol=1e-8)


@given(st.integers(1, 200), st.floats(0.5, 0.995))
def test_a_quantile_of_t_rises_and_narrows(degrees: int, share: float) -> None:
    assert 0.0 <= t_quantile(share, degrees + 1) <= t_quantile(share, degrees) + 1e-9
    assert t_quantile(share, degrees) <= t_quantile(share + 0.004, degrees) + 1e-9


@settings(max_examples=20)
@given(_RATE, _NOISE, st.floats(0.5, 0.99), st.floats(0.001, 0.2))
def test_the_plan_keeps_its_word(rate: float, noise: float, power: float, alpha: float) -> None:
    n = prompts_needed(rate, power, alpha, noise)
    assume(n is not None and n < 5_000)
    assert n is not None
    assert power_at(n, rate, alpha, noise) >= power
    seen = detectable_rate(n, power, alpha, noise)
    assert seen is not None
    assert seen <= rate + 1e-9
    assert power_at(n, seen, alpha, noise) >= power - 1e-9


@given(st.integers(1, 400), _RATE, _RATE, _NOISE)
def test_more_corruption_is_seen_better(n: int, one: float, other: float, noise: float) -> None:
    low, high = sorted((one, other))
    assert power_at(n, low, noise=noise) <= power_at(n, high, noise=noise) + 1e-9


@given(st.integers(1, 500), _NOISE)
def test_without_corruption_a_false_alarm_is_rarer_than_alpha(n: int, noise: float) -> None:
    assert power_at(n, 0.0, 0.05, noise) <= 0.05 + 1e-9


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0.5, 0.999))
def test_a_share_lies_in_its_interval(k: int, more: int, level: float) -> None:
    n = k + more
    found, mirrored = clopper_pearson(k, n, level), clopper_pearson(more, n, level)
    assert 0.0 <= found.low <= (k / n if n else 0.5) + 1e-12
    assert (k / n if n else 0.5) - 1e-12 <= found.high <= 1.0
    assert math.isclose(found.low, 1 - mirrored.high, abs_tol=1e-12)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 200))
def test_a_difference_lies_in_its_interval_and_mirrors(worse: int, better: int, rest: int) -> None:
    n = worse + better + rest
    found, mirrored = paired_difference(worse, better, n), paired_difference(better, worse, n)
    truth = (worse - better) / n if n else 0.0
    assert -1.0 <= found.low <= truth + 1e-12
    assert truth - 1e-12 <= found.high <= 1.0
    assert math.isclose(found.low, -mirrored.high, abs_tol=1e-12)


@given(st.integers(0, 200), st.integers(0, 200))
def test_one_more_loss_is_worse(worse: int, better: int) -> None:
    assert mcnemar_p(worse + 1, better) <= mcnemar_p(worse, better) <= mcnemar_p(worse, better + 1)


@given(st.lists(st.tuples(_SPEED, _SPEED), min_size=1, max_size=8), st.floats(1e-2, 1e2))
def test_a_ratio_has_no_unit_and_turns_over(pairs: list[tuple[float, float]], by: float) -> None:
    found = speed_ratio(pairs)
    scaled = speed_ratio([(a * by, b * by) for a, b in pairs])
    turned = speed_ratio([(b, a) for a, b in pairs])
    assert found is not None
    assert scaled is not None
    assert turned is not None
    assert math.isclose(found.ratio, scaled.ratio, rel_tol=1e-9)
    assert math.isclose(found.ratio, 1 / turned.ratio, rel_tol=1e-9)
    if found.interval:
        assert found.interval.low <= found.ratio * (1 + 1e-9)
        assert found.ratio <= found.interval.high * (1 + 1e-9)


class Token(NamedTuple):
    id: int
    nats: float | None = None
    top: tuple[tuple[int, float], ...] = ()


_NATS = st.floats(-20, 0)
_TOKEN = st.builds(
    Token,
    st.integers(0, 5),
    st.one_of(st.none(), _NATS),
    st.dictionaries(st.integers(0, 5), _NATS, max_size=4).map(lambda d: tuple(d.items())),
)
_ANSWER = st.lists(_TOKEN, min_size=1, max_size=6)


@given(_ANSWER, _ANSWER)
def test_a_divergence_is_where_it_says(control: list[Token], treatment: list[Token]) -> None:
    found, back = compare_answers(control, treatment), compare_answers(treatment, control)
    ids, others = [t.id for t in control], [t.id for t in treatment]
    assert (found.kind, found.at) == (back.kind, back.at)
    assert (found.kind is DivergenceClass.IDENTICAL) == (ids == others)
    if found.at >= 0:
        assert ids[: found.at] == others[: found.at]
        assert ids[found.at : found.at + 1] != others[found.at : found.at + 1]
    kept = msgspec.json.decode(msgspec.json.encode(found), type=Divergence)
    assert classify(kept) == found == kept


@given(_ANSWER, _ANSWER)
def test_what_one_arm_does_not_tell_makes_nothing_worse(
    control: list[Token], treatment: list[Token]
) -> None:
    silent = [Token(t.id) for t in treatment]
    found, less = compare_answers(control, treatment).kind, compare_answers(control, silent).kind
    if less is DivergenceClass.CORRUPTION:
        assert found is DivergenceClass.CORRUPTION
    if found is DivergenceClass.NEAR_TIE:
        assert less in {DivergenceClass.NEAR_TIE, DivergenceClass.UNKNOWN}


@given(st.lists(st.tuples(st.sampled_from(DivergenceClass), st.booleans(), st.booleans())))
def test_every_pair_is_counted_once(
    pairs: list[tuple[DivergenceClass, bool, bool]],
) -> None:
    score = SCORERS["exact"]
    effects = [
        (kind, effect_of(score("x" if one else "y", "x"), score("x" if other else "y", "x")))
        for kind, one, other in pairs
    ]
    rows = count_classes(effects)
    assert sum(row.count for row in rows) == len(pairs)
    assert sum(row.broke for row in rows) == sum(one and not other for _, one, other in pairs)
    assert all(row.broke + row.mended <= row.count for row in rows)


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_json_is_right_only_if_it_is_the_same(said: object, wanted: object) -> None:
    texts = json.dumps(said), json.dumps(wanted, indent=1)
    assert SCORERS["json"](json.dumps(said), json.dumps(said, indent=1)).exact
    same = json.dumps(said, sort_keys=True) == json.dumps(wanted, sort_keys=True)
    score = SCORERS["json"](*texts)
    assert score.exact == same
    assert bool(score.detail) != same
    if same:
        assert SCORERS["json-subset"](*texts).exact


@given(st.dictionaries(st.text(max_size=4), _JSON, max_size=3))
def test_the_same_call_is_right_however_it_is_written(arguments: dict[str, object]) -> None:
    said = tool_call_text([("f", json.dumps(arguments, indent=1))])
    wanted = json.dumps({"name": "f", "arguments": dict(reversed(arguments.items()))})
    assert SCORERS["tool-arguments"](said, wanted).exact


@given(
    st.sampled_from(sorted(SCORERS)),
    st.one_of(st.text(max_size=60), st.sampled_from(['{"":1', "[" * 3000, "9" * 5000, "1e999"])),
    st.text(max_size=20),
)
@example("json", "\ud800", "1")
@example("number", "9" * 6000, "9" * 6000)
def test_no_answer_throws(scorer: str, text: str, expected: str) -> None:
    assume(not fault_of_expected(scorer, expected))
    score = SCORERS[scorer](text, expected)
    assert score.exact or score.detail


_GOOD = b'{"id": "a", "prompt": "x", "max_tokens": 8, "expected": "y", "scorer": "exact"}'


@given(st.one_of(st.binary(max_size=120), st.integers(0, len(_GOOD)).map(lambda n: _GOOD[:n])))
def test_any_line_is_a_task_or_one_error(line: bytes) -> None:
    with contextlib.suppress(FormatError):
        assert len(parse_tasks([line], "t")) == 1


@given(st.integers(0, len(_GOOD) - 1), st.integers(0, 7))
def test_any_flipped_bit_is_a_task_or_one_error(at: int, bit: int) -> None:
    line = bytearray(_GOOD)
    line[at] ^= 1 << bit
    with contextlib.suppress(FormatError):
        parse_tasks([bytes(line)], "t")


@given(st.text(max_size=5), st.sampled_from(Form), st.integers(1, 30))
def test_any_seed_makes_tasks_that_its_own_parser_takes(seed: str, form: Form, n: int) -> None:
    assume(seed.isprintable())
    tasks = bundled_tasks(n, seed, form)
    lines = []
    for task in tasks:
        fields = {k: v for k, v in msgspec.to_builtins(task).items() if v}
        if "tools" in fields:
            fields["tools"] = json.loads(fields["tools"])
        lines.append(json.dumps(fields).encode())
    assert parse_tasks(lines, "made") == tasks
