"""The interval of ``fit`` for a box that it has not seen, out of the boots of boxes that it has.

``python -m benchmarks.fit_calibration --write src/sparkproof/facts/data/memory/rest.toml`` writes
it anew. The line is a least absolute deviation over a grid, each box with the same weight. Each box
in turn is left out, and the largest relative error of its boots is its score; boxes count, not
boots, since boots of one box are alike. The spread is the conformal quantile of the scores, which
with few boxes is their largest.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

import msgspec
from tests.unit.memory.boots import DEVICES, Boot, read_boots

from sparkproof.facts.memory_book import estimates
from sparkproof.facts.rest_model import Calibration, RestLine, Without
from sparkproof.facts.schema import Method

KIND = "gb10"
LEVEL = 0.8
"""What the published interval should hold."""
_HEAD = """\
# What boots spend beside weights and pool, and how far a box that is not among them may be off it.
# Written by `python -m benchmarks.fit_calibration --write FILE`, which says how; not by hand.

"""


def total_gib(boot: Boot) -> float:
    """What the device reports as its memory."""
    return boot.total_gib or DEVICES[boot.device].memory_gib


def spent(boot: Boot) -> float:
    """What a boot spent beside weights and pool, graph estimate included, GiB."""
    assert boot.utilization is not None
    assert boot.kv_gib is not None
    assert boot.load_gib is not None
    return boot.utilization * total_gib(boot) - boot.kv_gib - boot.load_gib


def usable(boots: Iterable[Boot]) -> list[Boot]:
    """Boots that print all of what was asked, loaded and left."""
    return [boot for boot in boots if boot.load_gib and boot.kv_gib and boot.utilization]


def of_kind(boots: Iterable[Boot]) -> list[Boot]:
    """Those on the device that the line is fitted for."""
    return [boot for boot in usable(boots) if boot.device == KIND]


def batched_tokens(boot: Boot) -> int:
    """As stated with the boot, else by its flags and release."""
    return boot.batched_tokens or boot.shape().settings.batched_tokens


def fit_line(boots: Sequence[Boot]) -> RestLine:
    """Least absolute deviation over a grid; every box has the same weight."""
    per_box = {boot.box: sum(1 for other in boots if other.box == boot.box) for boot in boots}
    graphs = estimates()["graph_estimate"].value
    rows = [(spent(boot) - graphs, batched_tokens(boot), per_box[boot.box]) for boot in boots]
    grid = itertools.product([step / 10 for step in range(81)], [step / 200 for step in range(81)])

    def loss(line: RestLine) -> float:
        return sum(abs(rest - line.rest_gib(tokens)) / weight for rest, tokens, weight in rows)

    return min((RestLine(fixed, slope) for fixed, slope in grid), key=loss)


def off(line: RestLine, boot: Boot) -> float:
    """How far a boot is off, as a share of what the line and the graphs make."""
    told = line.rest_gib(batched_tokens(boot)) + estimates()["graph_estimate"].value
    return abs(spent(boot) - told) / told


def leave_out(boots: Sequence[Boot]) -> tuple[Without, ...]:
    """Each box in turn: the line of the others, and its own score."""
    found = []
    for box in sorted({boot.box for boot in boots}):
        own = [boot for boot in boots if boot.box == box]
        line = fit_line([boot for boot in boots if boot.box != box])
        worst = max(off(line, boot) for boot in own)
        found.append(Without(box=box, boots=len(own), line=line, off=worst))
    return tuple(found)


def quantile(scores: Sequence[float], level: float) -> tuple[float, float]:
    """The score that holds `level` of new boxes, and the share that it holds at least.

    With n scores the k-th holds k of n + 1; where none is enough, it is the largest with its own
    share.
    """
    rank = min(math.ceil((len(scores) + 1) * level - 1e-9), len(scores))
    return sorted(scores)[rank - 1], rank / (len(scores) + 1)


def calibrate(
    boots: Sequence[Boot], elsewhere: Sequence[Boot] = (), level: float = LEVEL
) -> Calibration:
    """The line, the lines without a box, and what they are off."""
    line, without = fit_line(boots), leave_out(boots)
    spread, holds = quantile([item.off for item in without], level)
    first, last = min(b.date for b in boots), max(b.date for b in boots)
    return Calibration(
        capability=DEVICES[KIND].capability,
        line=line,
        graphs_gib=estimates()["graph_estimate"].value,
        level=level,
        holds=round(holds, 3),
        spread=_up(spread),
        elsewhere=_up(max((off(line, boot) for boot in elsewhere), default=0.0)),
        kinds=len({boot.device for boot in elsewhere}),
        source=(
            f"{len(boots)} boots of {first:%Y-%m} to {last:%Y-%m} on {len(without)} boxes:"
            " utilization times total less pool, weights and graph estimate;"
            " tests/data/memory/boots.toml and boots_blind.toml name each"
        ),
        checked=date.today(),
        method=Method.REPORTED,
        without=without,
    )


def _up(share: float) -> float:
    """Three decimals, never fewer than there are: an interval is not rounded narrower."""
    return math.ceil(share * 1000 - 1e-9) / 1000


def page(found: Calibration) -> str:
    """The file."""
    plain = ("capability", "graphs_gib", "level", "holds", "spread", "elsewhere", "kinds", "source")
    lines = [f"{name} = {_value(getattr(found, name))}" for name in plain]
    lines += [f"checked = {found.checked}", f'method = "{found.method}"', "", "[line]"]
    lines += _line(found.line)
    for item in found.without:
        lines += ["", "[[without]]", f"box = {_value(item.box)}", f"boots = {item.boots}"]
        lines += [f"off = {item.off:.3f}", "[without.line]", *_line(item.line)]
    return _HEAD + "\n".join(lines) + "\n"


def _line(line: RestLine) -> list[str]:
    return [
        f"fixed_gib = {line.fixed_gib}",
        f"per_1024_tokens_gib = {line.per_1024_tokens_gib}",
    ]


def _value(value: object) -> str:
    return msgspec.json.encode(value).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    boots = read_boots()
    others = [boot for boot in usable(boots) if boot.device != KIND]
    text = page(calibrate(of_kind(boots), others))
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
