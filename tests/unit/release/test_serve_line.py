"""Argument lists as a release's own parser takes them."""

from __future__ import annotations

import pytest

from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.serve_line import ServeLine, Trouble
from sparkproof.release import read_surface
from sparkproof.release.serve_line import parse_serve_line
from sparkproof.release.serve_values import RefusedError, read_size
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_source import source_tree


@pytest.fixture(scope="module")
def surface() -> ReleaseSurface:
    return read_surface(MemoryArtifact(source_tree()), oracles=("attention/backend",), whole=True)


def parse(surface: ReleaseSurface, text: str) -> ServeLine:
    return parse_serve_line(surface, text.split())


@pytest.mark.parametrize(
    ("text", "flag", "value"),
    [
        ("m --port 9", "--port", 9),
        ("m --port=9", "--port", 9),
        ("m --max_len 128K", "--max-len", 131072),
        ("m --max-len auto", "--max-len", -1),
        ("m --max-len -1", "--max-len", -1),
        ("m --pool-bytes 1.5g", "--pool-bytes", 1_500_000_000),
        ("m --moe-backend Rocket", "--moe-backend", "rocket"),
        ("m --keys a b --port 1", "--keys", ["a", "b"]),
        ("m --no-enable-reuse", "--enable-reuse", False),
        ("m -sc.method tow -sc.dogs 3", "--sled-config", {"method": "tow", "dogs": 3}),
        ('m --sled-config {"dogs":2k}', "--sled-config", {"dogs": 2000}),
        ('m --sled-config {"harness":"fan"}', "--sled-config", {"harness": "fan"}),
        ('m --sled-config {"harness":"Auto"}', "--sled-config", {"harness": "Auto"}),
        ("m --overrides x", "--overrides", "x"),
        ('m --overrides {"a":"1k"}', "--overrides", {"a": "1k"}),
        ("m --overrides.a.b+ 1,2", "--overrides", {"a": {"b": ["1", "2"]}}),
        ("m --host None", "--host", None),
        ("m --pool 5", "--pool-bytes", 5),
        ("--port 9 m", "--port", 9),
    ],
)
def test_values(surface: ReleaseSurface, text: str, flag: str, value: object) -> None:
    line = parse(surface, text)
    assert line.model == "m"
    assert line.complaints == ()
    assert line.get(flag) == value


@pytest.mark.parametrize(
    ("text", "trouble", "part"),
    [
        ("m --linear-backed rocket", Trouble.UNKNOWN, "no option"),
        ("m --linear-backend sled", Trouble.VALUE, "none of"),
        ("m --port x", Trouble.VALUE, "no whole number"),
        ("m --port", Trouble.MISSING, "needs a value"),
        ("m --port --quiet", Trouble.MISSING, "needs a value"),
        ("m --keys --quiet", Trouble.MISSING, "needs a value"),
        ("m --quiet=1", Trouble.VALUE, "takes no value"),
        ("m n", Trouble.EXTRA, "belongs to no option"),
        ("m --sled-config [1]", Trouble.VALUE, "no JSON object"),
        ("m --sled-config {", Trouble.VALUE, "no JSON"),
        ('m --sled-config {"cats":1}', Trouble.FIELD, "no field"),
        ('m --sled-config {"method":"pull"}', Trouble.FIELD, "none of"),
        ('m --sled-config {"harness":"gang-line"}', Trouble.FIELD, "none of GANG_LINE, FAN"),
        ("m --kv-cache-dtype fp4", Trouble.VALUE, "none of auto"),
        ("m --port.x 1", Trouble.VALUE, "has no keys"),
        ("m --sled-config.dogs", Trouble.MISSING, "needs a value"),
        ("m -O3", Trouble.UNKNOWN, "no option"),
    ],
)
def test_refusals(surface: ReleaseSurface, text: str, trouble: Trouble, part: str) -> None:
    line = parse(surface, text)
    assert [item.trouble for item in line.complaints] == [trouble]
    assert part in line.complaints[0].message
    assert not line.accepted


def test_a_near_spelling_is_offered(surface: ReleaseSurface) -> None:
    complaint = parse(surface, "m --linear-backed rocket").complaints[0]
    assert complaint.near[0] == "--linear-backend"


def test_warnings_do_not_refuse(surface: ReleaseSurface) -> None:
    line = parse(surface, "m --old-way --port 1 --port 1 --port 2")
    troubles = [item.trouble for item in line.complaints]
    assert troubles == [Trouble.ENDING, Trouble.REPEATED, Trouble.OVERRULED]
    assert "`--port 2`, counts" in line.complaints[-1].message
    assert line.accepted
    assert line.get("--port") == 2


@pytest.mark.parametrize("text", ["1.5K", "1x", "", "9" * 40, "1e3"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(RefusedError):
        read_size(text)
