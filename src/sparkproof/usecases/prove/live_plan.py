"""What the gates of a live proof ask for: sizes that the server at hand can take. Pure."""

from __future__ import annotations

from sparkproof.core.observations.load_run import LoadPlan
from sparkproof.core.observations.server_snapshot import ServerSnapshot
from sparkproof.core.report import Report
from sparkproof.core.results.smoke import SmokeResult
from sparkproof.gates.ab import make_cells
from sparkproof.gates.soak_plan import Wishes
from sparkproof.load.schedule import make_plan
from sparkproof.usecases.ab.wish import AbWish

_DEPTH, _OUTPUT, _STREAMS = 1024, 128, 8
_QUICK_DEPTH, _QUICK_OUTPUT, _QUICK_STREAMS = 256, 32, 4
_ROOM = 64
"""Tokens that a chat template and a miscounted word may add."""
_REPEATS = 3
_QUICK_REQUESTS = 48
_QUICK_DETECT = 0.1
"""Share of corrupted answers that a short comparison is to see."""
_QUICK_ROUNDS = 2


def wish_soak(*, quick: bool) -> Wishes:
    """The usual soak, or one of a minute; lengths are the soak's own business."""
    return Wishes(requests=_QUICK_REQUESTS, concurrency=_QUICK_STREAMS) if quick else Wishes()


def wish_ab(model: str, *, quick: bool) -> AbWish:
    """The usual comparison at batch 1 and beside others, or a short one that sees less."""
    if quick:
        cells = make_cells((1, _QUICK_STREAMS), warm=False)
        return AbWish(cells=tuple(cells), model=model, detect=_QUICK_DETECT, rounds=_QUICK_ROUNDS)
    return AbWish(cells=tuple(make_cells((1, _STREAMS))), model=model)


def plan_bench(
    snapshot: ServerSnapshot, model: str, smoke: Report[SmokeResult] | None, *, quick: bool
) -> LoadPlan:
    """One depth, alone and beside others, in three rounds.

    Args:
        smoke: what a chat gave: where none came, raw text is asked for.
    """
    depth, output, streams = (
        (_QUICK_DEPTH, _QUICK_OUTPUT, _QUICK_STREAMS) if quick else (_DEPTH, _OUTPUT, _STREAMS)
    )
    limit = next((m.max_model_len for m in snapshot.models if m.name == model), 0)
    if limit:
        output = max(2, min(output, limit // 4))
        depth = max(1, min(depth, limit - output - _ROOM))
    mode = "answer" if _chats(smoke) else "raw"
    return make_plan(
        modes=(mode,),
        depths=(depth,),
        output=output,
        concurrencies=(1, streams),
        repeats=_REPEATS,
    )


def _chats(smoke: Report[SmokeResult] | None) -> bool:
    """Whether a plain chat was answered, as far as anybody knows."""
    if smoke is None or smoke.result is None:
        return True
    chats = [e for e in smoke.result.exchanges if e.label == "chat/answer"]
    return all(e.ok for e in chats)
