"""Where the bytes of one server go, as lines that sum exactly."""

from __future__ import annotations

import math

import msgspec

from sparkproof.core.memory_plan import BudgetLine, Origin
from sparkproof.core.serve_args import ServeArgs
from sparkproof.facts.memory_book import Estimate, estimates
from sparkproof.facts.rest_model import calibration
from sparkproof.memory.kv_plan import KvShape

GIB = 1 << 30
_TOGETHER = frozenset({"activation", "non-torch", "graphs"})
_APART = ("kv", "slack")


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes of the weights, target and drafter.

    Attributes:
        loaded: the bytes are what a log says was loaded, not what the files hold.
        layers: over how many layers they spread.
    """

    target_bytes: int
    drafter_bytes: int = 0
    loaded: bool = False
    layers: int = 1
    why: str = ""


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Figures from this very setup's own log that replace estimates; None where not known.

    Attributes:
        pool: where a given pool is from, if not from a flag.
    """

    pool: str = ""
    rest_bytes: int | None = None
    graph_estimate_bytes: int | None = None


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the engine allows itself and what it spends that on.

    Attributes:
        lines: their bytes sum to `requested_bytes` exactly; ``kv`` is the rest, unless the pool
            was given or nothing is left for it, when ``slack`` is.
        together: by how much activation, non-torch and graphs may sum to less and to more, as
            boots have shown; None where each stands for itself.
    """

    requested_bytes: int
    lines: tuple[BudgetLine, ...]
    together: tuple[int, int] | None = None

    def line(self, name: str) -> BudgetLine:
        """One line by name; an empty one where there is none."""
        empty = BudgetLine(name, 0, 0, 0, Origin.EXACT, "")
        return next((item for item in self.lines if item.name == name), empty)

    @property
    def overhead_bytes(self) -> int:
        """Everything but the pool and what is left over."""
        return sum(item.bytes for item in self.lines if item.name not in _APART)

    @property
    def overhead_range(self) -> tuple[int, int]:
        """The interval of `overhead_bytes`: errors are added up as if they were independent."""
        joint = _TOGETHER if self.together else frozenset()
        single = [line for line in self.lines if line.name not in (*_APART, *joint)]
        less, more = self.together or (0, 0)
        down = math.hypot(less, *(item.bytes - item.low_bytes for item in single))
        up = math.hypot(more, *(item.high_bytes - item.bytes for item in single))
        return self.overhead_bytes - int(down), self.overhead_bytes + int(up)


def plan_budget(
    shape: KvShape,
    args: ServeArgs,
    weights: Weights,
    total_bytes: int,
    known: Known | None = None,
    *,
    capability: str = "",
) -> Budget:
    """The engine's own budget on a device of `total_bytes`.

    Args:
        capability: of the device; the interval is wide for one that no boot was measured on.
    """
    known = known or Known()
    requested = math.ceil(total_bytes * shape.settings.utilization)
    lines = [*_weight_lines(weights), *_rest_lines(shape, args, known), _graphs(shape, args, known)]
    spent = sum(item.bytes for item in lines)
    partial = Budget(requested, tuple(lines), _together(shape, args, known, capability))
    low, high = partial.overhead_range
    left = requested - spent - args.kv_bytes
    if args.kv_bytes:
        why = "what the utilization asks for beyond that; not reserved"
        lines += [_given_pool(args, known), _exactly("slack", left, why)]
    else:
        why = f"what is left of the request{_by_boots(known, capability)}"
        ends = [max(requested - end, 0) for end in (high, low)]
        origin = Origin.EXACT if ends[0] == ends[1] else Origin.ESTIMATED
        lines.append(BudgetLine("kv", max(left, 0), ends[0], ends[1], origin, why))
        lines += [_exactly("slack", left, "what the request lacks")] if left < 0 else []
    return msgspec.structs.replace(partial, lines=tuple(lines))


def _given_pool(args: ServeArgs, known: Known) -> BudgetLine:
    flag = "--num-gpu-blocks-override" if args.blocks_override else "--kv-cache-memory-bytes"
    size = args.kv_bytes
    return BudgetLine("kv", size, size, size, Origin.GIVEN, known.pool or flag)


def _exactly(name: str, size: int, why: str) -> BudgetLine:
    return BudgetLine(name, size, size, size, Origin.EXACT, why)


def _by_boots(known: Known, capability: str) -> str:
    """On what the interval of the pool rests."""
    found = calibration()
    if known.rest_bytes is not None:
        return ""
    if not found.covers(capability):
        return "; no boot on such a device bounds it"
    return f"; by {found.boots} boots on {len(found.without)} boxes, each left out in turn"


def _together(
    shape: KvShape, args: ServeArgs, known: Known, capability: str
) -> tuple[int, int] | None:
    """How far the estimates may be off in sum, as boxes left out were; None where one is known.

    What b12x adds no boot has shown, so its own interval comes on top.
    """
    if known.rest_bytes is not None:
        return None
    tokens = shape.settings.batched_tokens
    found = calibration()
    usual = found.line.rest_gib(tokens) + found.graphs_gib
    low, high = found.range_gib(tokens, capability)
    less, more = usual - low, high - usual
    if _is_doubled(args):
        factor, peak = estimates()["b12x_activation_factor"], _peak_gib(tokens)
        less = math.hypot(less, (factor.value - factor.low) * peak)
        more = math.hypot(more, (factor.high - factor.value) * peak)
    return int(less * GIB), int(more * GIB)


def _weight_lines(weights: Weights) -> list[BudgetLine]:
    lines = [_weight_line("weights", weights.target_bytes, weights)]
    if weights.drafter_bytes:
        lines.append(_weight_line("drafter", weights.drafter_bytes, weights))
    return lines


def _weight_line(name: str, size: int, weights: Weights) -> BudgetLine:
    if weights.loaded:
        return BudgetLine(name, size, size, size, Origin.MEASURED, weights.why or "as loaded")
    growth = estimates()["weights_growth"]
    return BudgetLine(
        name,
        int(size * growth.value),
        int(size * growth.low),
        int(size * growth.high),
        Origin.CHECKPOINT,
        weights.why or "bytes of the checkpoint, and what loading adds",
    )


def _rest_lines(shape: KvShape, args: ServeArgs, known: Known) -> list[BudgetLine]:
    """Activation peak, and what lives outside torch's allocator."""
    if known.rest_bytes is not None:
        rest = known.rest_bytes
        why = "this setup's own boot log"
        return [BudgetLine("rest", rest, rest, rest, Origin.MEASURED, why)]
    share, factor = estimates()["activation_share"], estimates()["b12x_activation_factor"]
    tokens, spread = shape.settings.batched_tokens, calibration().spread
    moving = _times(estimates()["rest_per_1024_tokens"], tokens / 1024)
    fixed = _times(estimates()["rest_fixed"])
    scale = _times(factor) if _is_doubled(args) else (1.0, 1.0, 1.0)
    inside = (share.value, share.low * (1 - spread), share.high * (1 + spread))
    beyond = (1 - share.value, (1 - share.high) * (1 - spread), (1 - share.low) * (1 + spread))
    apart = (1.0, 1 - spread, 1 + spread)
    activation = [m * i * s for m, i, s in zip(moving, inside, scale, strict=True)]
    outside = [f * a + m * b for f, a, m, b in zip(fixed, apart, moving, beyond, strict=True)]
    suffix = ", doubled by b12x" if _is_doubled(args) else ""
    return [
        _estimated("activation", activation, f"{tokens:,} batched tokens{suffix}"),
        _estimated("non-torch", outside, "CUDA context, libraries, engine processes, workspaces"),
    ]


def _is_doubled(args: ServeArgs) -> bool:
    return "b12x" in args.moe_backend


def _peak_gib(tokens: int) -> float:
    moving = estimates()["rest_per_1024_tokens"].value * tokens / 1024
    return moving * estimates()["activation_share"].value


def _times(found: Estimate, scale: float = 1.0) -> tuple[float, float, float]:
    """Value, low and high."""
    return found.value * scale, found.low * scale, found.high * scale


def _graphs(shape: KvShape, args: ServeArgs, known: Known) -> BudgetLine:
    if known.graph_estimate_bytes is not None:
        size = known.graph_estimate_bytes
        return BudgetLine("graphs", size, size, size, Origin.MEASURED, "the log's estimate")
    if args.enforce_eager or not shape.settings.rules.flag("graph_estimate"):
        why = "no graphs" if args.enforce_eager else "this release does not set graphs apart"
        return BudgetLine("graphs", 0, 0, 0, Origin.EXACT, why)
    found = estimates()["graph_estimate"]
    return _estimated("graphs", [found.value, found.low, found.high], "graph pool, as estimated")


def _estimated(name: str, gib: list[float], why: str) -> BudgetLine:
    value, low, high = (int(item * GIB) for item in gib)
    return BudgetLine(name, value, low, high, Origin.ESTIMATED, why)


def estimated_line(name: str, found: Estimate, why: str, scale: float = GIB) -> BudgetLine:
    """A budget line from an estimate of the book."""
    return BudgetLine(
        name,
        int(found.value * scale),
        int(found.low * scale),
        int(found.high * scale),
        Origin.ESTIMATED,
        why,
    )


def gib(count: int) -> str:
    """``7.15 GiB``."""
    return f"{count / GIB:.2f} GiB"
