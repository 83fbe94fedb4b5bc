"""Kernel families of real wheels on GB10, held against a record."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparkproof.adapters.zip_artifact import open_wheel
from sparkproof.core.capability import ComputeCapability
from sparkproof.core.delivery import FamilyRoute
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.kernel_family import OTHER

GB10 = ComputeCapability(12, 1)
RECORD = Path(__file__).parent / "device_code" / "routes.toml"
WHEELS: list[dict[str, Any]] = tomllib.loads(RECORD.read_text())["wheel"]


def told(route: FamilyRoute | None) -> str:
    """``family | family sm_120f 4``."""
    if route is None:
        return "absent"
    counts = (f"{c.route.value} {c.arch} {c.kernels}".replace("  ", " ") for c in route.counts)
    return f"{route.route.value} | {', '.join(counts)}".rstrip()


@pytest.mark.artifact
@pytest.mark.parametrize("wheel", WHEELS, ids=lambda w: f"{w['requirement']}-{w['platform']}")
def test_routes(wheel: dict[str, Any], real_wheel: Callable[..., Path]) -> None:
    path = real_wheel(wheel["requirement"], platform=wheel["platform"])
    artifact = open_wheel(path)
    code = read_device_code(artifact, GB10, more_doors=[lambda: open_wheel(path)])
    artifact.close()
    assert not code.unknowns
    found = {route.family: route for route in route_families(code, GB10)}
    assert {name: told(found.get(name)) for name in wheel["families"]} == wheel["families"]
    assert OTHER not in found
