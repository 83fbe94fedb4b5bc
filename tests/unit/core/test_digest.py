"""Canonical JSON."""

from __future__ import annotations

import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import canonical_json, digest
from sparkproof.core.errors import FormatError


def test_keys_are_sorted_at_every_depth_and_nothing_is_spaced() -> None:
    assert canonical_json({"b": [1, {"d": None, "c": True}], "a": "é"}) == (
        '{"a":"é","b":[1,{"c":true,"d":null}]}'.encode()
    )


def test_a_struct_and_its_plain_form_have_one_digest() -> None:
    deployment = Deployment(checkpoint="x", env={"B": "1", "A": "2"})
    plain = {"env": {"A": "2", "B": "1"}, "checkpoint": "x"}
    whole = {name: getattr(deployment, name) for name in deployment.__struct_fields__}
    assert digest(deployment) == digest({**whole, **plain})
    assert digest(deployment).startswith("sha256:")


def test_the_digest_is_that_of_the_canonical_bytes() -> None:
    # printf '{"a":1}' | sha256sum
    expected = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    assert digest({"a": 1}) == f"sha256:{expected}"


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {"b": -float("inf")}}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(FormatError, match="can't be written as JSON"):
        canonical_json(value)


def test_text_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(FormatError, match="no UTF-8"):
        canonical_json({"name": "\udcff"})
