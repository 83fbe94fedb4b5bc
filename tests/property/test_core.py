"""Laws of the core types."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkproof.core.digest import canonical_json, digest
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.redaction import redact_arguments, redact_text
from sparkproof.core.refs import parse_ref
from sparkproof.core.text import encodable, visible
from sparkproof.core.verdict import Verdict, fold

verdicts = st.sampled_from(Verdict)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
plain = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(verdicts), st.lists(verdicts))
def test_the_fold_is_associative(left: list[Verdict], right: list[Verdict]) -> None:
    assert fold([fold(left), fold(right)]) is fold([*left, *right])


@given(st.lists(verdicts), st.randoms())
def test_the_fold_is_commutative(items: list[Verdict], random: object) -> None:
    shuffled = sorted(items, key=lambda _item: random.random())  # type: ignore[attr-defined]
    assert fold(shuffled) is fold(items)


@given(verdicts)
def test_skipped_is_the_unit_and_the_fold_idempotent(verdict: Verdict) -> None:
    assert fold([verdict, Verdict.SKIPPED]) is verdict
    assert fold([verdict, verdict]) is verdict


def _reversed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


@given(plain)
def test_a_digest_does_not_depend_on_key_order(value: object) -> None:
    try:
        assert digest(_reversed(value)) == digest(value)
    except FormatError:  # a key that holds a lone surrogate
        assert "\\ud" in json.dumps(value)


@given(plain)
def test_canonical_json_survives_a_round_trip(value: object) -> None:
    try:
        data = canonical_json(value)
    except FormatError:
        return
    assert canonical_json(json.loads(data)) == data
    assert canonical_json(msgspec.json.decode(data)) == data
    assert b" " not in data or " " in json.dumps(value, separators=(",", ":"))


@given(st.text())
def test_redaction_is_idempotent_and_its_result_encodable(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once
    once.encode()


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=12), max_size=6))
def test_no_value_of_a_secret_flag_survives(values: list[str]) -> None:
    values = [value for value in values if not value.startswith("--")]
    redacted = redact_arguments(("--api-key", *values, "--port", "1"))
    assert set(redacted[1 : 1 + len(values)]) <= {"[redacted]"}
    assert redacted[1 + len(values) :] == ("--port", "1")


@given(st.text())
def test_what_is_shown_is_printable_and_what_is_encoded_utf8(text: str) -> None:
    assert visible(text).replace("\u00a0", " ").isprintable()
    encodable(text).encode()


@given(st.text())
def test_a_reference_parses_or_is_refused_and_never_shows_credentials(text: str) -> None:
    try:
        ref = parse_ref(text)
    except UsageError:
        return
    assert ref.value


@pytest.mark.parametrize("scheme", ["http", "https"])
@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20))
def test_credentials_never_show_in_a_reference(scheme: str, secret: str) -> None:
    ref = parse_ref(f"{scheme}://user:s3cr{secret}@host.example/x-1.0-py3-none-any.whl?k={secret}")
    assert f"s3cr{secret}" not in ref.display
    assert "?" not in repr(ref)
