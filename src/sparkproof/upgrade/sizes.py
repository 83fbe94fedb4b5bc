"""Numbers that come out otherwise: pool, tokens, batch, captured graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkproof.core.condition import Tri, evaluate
from sparkproof.core.finding import Confidence
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.observations.release_parts import GraphRule
from sparkproof.core.results.upgrade import Action, Bite, Change, Edit
from sparkproof.upgrade.arguments import Given, lookup
from sparkproof.upgrade.decisions import Decider, decider, speculation
from sparkproof.upgrade.view import FLAG_REFUSED, Case, View

_ARITHMETIC, _FACT, _SURFACE = "arithmetic", "fact", "release surface"
_GIB = 1 << 30
_LEAST = 0.01
"""Share of the printed tokens below which a difference is not told."""
_EAGER = "--enforce-eager"
_OWN_SIZES = (("--cudagraph-capture-sizes",), ("--max-cudagraph-capture-size",))
_CAP = "max_num_seqs*decode_query_len*2"
_IN_CONFIG = ("cudagraph_capture_sizes", "max_cudagraph_capture_size")


def compare_sizes(case: Case, given: Sequence[Given]) -> Iterator[tuple[bool, Change]]:
    """Every number that moved, and whether the engine still starts on it.

    Yields:
        Whether it is news, and the change.
    """
    yield from _refusals(case)
    old, new = case.before.plan, case.after.plan
    if old is not None and new is not None:
        yield from ((True, change) for change in _pool(case, old, new))
        yield from ((True, change) for change in _batch(old, new))
    yield from ((True, change) for change in _graphs(case, given))


def _refusals(case: Case) -> Iterator[tuple[bool, Change]]:
    for rule, message in case.after.refusals.items():
        unplanned = case.after.plan is None and case.before.plan is None
        flag = rule.startswith("--")
        if unplanned and rule != FLAG_REFUSED and not flag:
            continue  # no release told: it can't be planned here
        rests_on = _SURFACE if flag else _ARITHMETIC
        change = Change(Bite.WONT_START, rule, message, rests_on, after=message)
        yield rule not in case.before.refusals, change


def _pool(case: Case, old: KvPlan, new: KvPlan) -> Iterator[Change]:
    pool = f"for a pool of {new.pool_bytes / _GIB:.2f} GiB" if case.after.given_pool else ""
    if old.block_size != new.block_size:
        yield Change(
            bite=Bite.SIZE,
            subject="block size",
            message="blocks hold another number of tokens; prefix hits come in whole blocks",
            rests_on=_ARITHMETIC,
            before=str(old.block_size),
            after=str(new.block_size),
        )
    if not _far(old.concurrency, new.concurrency):
        if _far(old.tokens, new.tokens):
            yield _printed(old, new)
        return
    share = new.concurrency / old.concurrency - 1 if old.concurrency else 0.0
    yield Change(
        bite=Bite.SIZE,
        subject="kv pool",
        message=" ".join(filter(None, (f"{share:+.0%} requests in the pool", pool))),
        rests_on=_ARITHMETIC,
        before=f"{old.tokens:,} tokens, {old.concurrency:.2f}x at {old.max_model_len:,}",
        after=f"{new.tokens:,} tokens, {new.concurrency:.2f}x at {new.max_model_len:,}",
    )


def _printed(old: KvPlan, new: KvPlan) -> Change:
    return Change(
        bite=Bite.SIZE,
        subject="kv line",
        message="the log counts the tokens of the pool in another way; it holds the same requests",
        rests_on=_ARITHMETIC,
        before=f"{old.tokens:,} tokens",
        after=f"{new.tokens:,} tokens",
    )


def _far(old: float, new: float) -> bool:
    return abs(new - old) > _LEAST * max(old, new, 1e-9)


def _batch(old: KvPlan, new: KvPlan) -> Iterator[Change]:
    for subject, before, after, flag in (
        ("batched tokens", old.batched_tokens, new.batched_tokens, "--max-num-batched-tokens"),
        ("sequences", old.sequences, new.sequences, "--max-num-seqs"),
    ):
        if before != after:
            yield Change(
                bite=Bite.SIZE,
                subject=subject,
                message=f"{flag} is left to the release, and that is another number now",
                rests_on=_FACT,
                before=f"{before:,}",
                after=f"{after:,}",
                edits=(Edit(Action.ADD, flag, str(before)),),
                optional=True,
            )


def _graphs(case: Case, given: Sequence[Given]) -> Iterator[Change]:
    if _own_sizes(given):
        return
    old, new = (_largest(case, view, given) for view in (case.before, case.after))
    if old and new and old != new:
        yield Change(
            bite=Bite.SIZE,
            subject="captured graphs",
            message="CUDA graphs are captured up to another batch size",
            rests_on="release surface",
            before=str(old),
            after=str(new),
            confidence=Confidence.INFERRED,
        )
    drafts = speculation(given)
    uniform = [_captures_uniform(view) for view in (case.before, case.after)]
    if drafts and uniform == [False, True]:
        tokens = drafts.get("num_speculative_tokens", "k")
        yield Change(
            bite=Bite.SIZE,
            subject="captured graphs",
            message="decode batches of speculation get graphs of their own: capture takes longer, "
            "and a little more memory",
            rests_on="release surface",
            before="by sequences",
            after=f"and by sequences times {tokens} + 1",
        )


def _own_sizes(given: Sequence[Given]) -> bool:
    eager = lookup(given, _EAGER)
    if eager is not None and eager.typed == _EAGER:
        return True
    if any(lookup(given, *flag) is not None for flag in _OWN_SIZES):
        return True
    return any(lookup(given, "--compilation-config", key) is not None for key in _IN_CONFIG)


def _largest(case: Case, view: View, given: Sequence[Given]) -> int:
    """The largest captured size, 0 where it can't be told."""
    plan = view.plan
    if plan is None:
        return 0
    asked = decider(case, view.surface, given)
    tokens = plan.sequences * (1 + plan.speculative_tokens)
    return min(largest_default(view.surface.graphs, asked, tokens), plan.batched_tokens)


def largest_default(graphs: GraphRule | None, asked: Decider, tokens: int) -> int:
    """The largest size that a release captures by itself, 0 where it can't be told.

    Args:
        tokens: of a full decode batch.
    """
    if graphs is None or graphs.cap.replace(" ", "") != _CAP:
        return 0
    ceiling = next((n for when, n in graphs.ceilings if evaluate(when, asked) is Tri.YES), 0)
    return min(tokens * 2, ceiling)


def _captures_uniform(view: View) -> bool:
    return view.surface.graphs is not None and any(
        "uniform_decode" in size for size in view.surface.graphs.sizes
    )
