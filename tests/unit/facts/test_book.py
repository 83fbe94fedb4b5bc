"""The facts book finds devices by every name they go by."""

from __future__ import annotations

import pytest

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError, UsageError
from sparkproof.core.field_report import DeviceClass
from sparkproof.facts import book
from sparkproof.facts.schema import Glossary, Method, Rule


@pytest.mark.parametrize("name", ["gb10", "GB10", " spark ", "dgx-spark"])
def test_a_device_is_found_by_id_and_alias(name: str) -> None:
    device = book.find_device(name)
    assert device.id == "gb10"
    assert device.capability == ComputeCapability(12, 1)
    assert device.unified_memory


def test_a_bare_capability_is_a_device_with_no_other_facts() -> None:
    device = book.find_device("12.1")
    assert (str(device.capability), device.device_class) == ("12.1", DeviceClass.GB10)
    assert set(device.facts) == {"capability"}
    assert device.facts["capability"].method is Method.GIVEN
    assert book.find_device("9.9").device_class is DeviceClass.OTHER


@pytest.mark.parametrize("name", ["", "gb11", "sm_121x", "twelve"])
def test_an_unknown_device_names_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match="unknown device") as caught:
        book.find_device(name)
    assert "gb10" in caught.value.hint


def test_a_file_that_does_not_fit_its_schema_is_named() -> None:
    with pytest.raises(FormatError, match=r"facts/data/hardware/gb10\.toml"):
        book.load_file("hardware/gb10.toml", Glossary)
    with pytest.raises(FormatError, match="facts/data/hardware/"):
        book.load_folder("hardware", Rule)


def test_the_book_is_read_once() -> None:
    assert book.rules() is book.rules()
