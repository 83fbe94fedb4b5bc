"""Libraries of which one is loaded: none adds to another, and the best stands for all."""

from __future__ import annotations

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.delivery import Route
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.devicecode.alternatives import choose_alternatives
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.device_code import container, library

GB10 = ComputeCapability(12, 1)
NAME = "bnb/libbnb_cuda{}.so"


def code(**archs: str) -> DeviceCode:
    files = {
        NAME.format(line.removeprefix("of_")): library([container(["_Z3foov", "_Z3barv"], [arch])])
        for line, arch in archs.items()
    }
    files["bnb/libother.so"] = library([container(["_Z3bazv"], ["sm_121"])])
    return read_device_code(MemoryArtifact(files), GB10)


def test_the_best_of_several_is_counted_and_of_equals_the_newest() -> None:
    seen = code(of_126="sm_90", of_128="sm_120", of_130="sm_121", of_132="sm_121")
    counted, rows = choose_alternatives(seen, GB10)
    assert [(row.working, row.route, row.counted) for row in rows] == [
        (0, Route.NONE, False),
        (2, Route.SAME_MAJOR, False),
        (2, Route.NATIVE, False),
        (2, Route.NATIVE, True),
    ]
    assert {row.group for row in rows} == {NAME.format("*")}
    assert [item.path for item in counted.libraries] == [NAME.format(132), "bnb/libother.so"]
    kernels = sum(route.kernels for route in route_families(counted, GB10))
    assert kernels == 3


def test_one_that_works_is_taken_before_a_newer_one_that_does_not() -> None:
    _, rows = choose_alternatives(code(of_121="sm_121", of_140="sm_130"), GB10)
    assert [row.counted for row in rows] == [True, False]


def test_a_single_library_is_no_alternative() -> None:
    seen = code(of_130="sm_121")
    assert choose_alternatives(seen, GB10) == (seen, ())
