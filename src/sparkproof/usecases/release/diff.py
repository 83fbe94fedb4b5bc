"""What another release changes for one device, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.ports import Progress
from sparkproof.core.report import Report
from sparkproof.core.results.release import (
    BackendRow,
    BatchDefault,
    Bite,
    Change,
    OracleView,
    ReleaseDiff,
)
from sparkproof.core.target import Target
from sparkproof.core.units import plural
from sparkproof.core.verdict import Verdict
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.release.diff import both, change, compare_surfaces
from sparkproof.selection.answers import describe_oracles
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.release.command import batch_default, find_surface

if TYPE_CHECKING:
    from sparkproof.adapters.cache import ArtifactCache

_RANK = {bite: position for position, bite in enumerate(Bite)}


def compare_releases(
    before: str,
    after: str,
    *,
    device: str = "gb10",
    arguments: Sequence[str] = (),
    target: Target | None = None,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[ReleaseDiff]:
    """Compare two releases, each a version or an artifact.

    Args:
        arguments: the user's own vLLM arguments; changes that touch them are marked.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    hardware = find_device(device)
    found = [
        find_surface(item, target=target, cache=cache, offline=offline, progress=progress)
        for item in (before, after)
    ]
    (old, _), (new, _) = found
    changes = (*_selection(old, new, hardware), *compare_surfaces(old, new))
    words = _words(arguments)
    marked = [msgspec.structs.replace(c, used=True) if _uses(c, words) else c for c in changes]
    ordered = tuple(sorted(marked, key=lambda c: (_RANK[c.bite], not c.used, c.section, c.subject)))
    unknowns = (*old.unknowns, *new.unknowns)
    return make_report(
        "release diff",
        ReleaseDiff(old.version, new.version, str(hardware.capability), ordered),
        verdict=Verdict.INCONCLUSIVE if unknowns else Verdict.PASS,
        summary=_summary(old, new, ordered),
        subjects=tuple(subject for _, subject in found if subject is not None),
        unknowns=unknowns,
        facts=(f"hardware/{hardware.id}", "release/layout"),
    )


def _summary(old: ReleaseSurface, new: ReleaseSurface, changes: tuple[Change, ...]) -> str:
    counted = Counter(item.bite for item in changes)
    picks = counted[Bite.PICK]
    said = f"{plural(picks, 'pick')} change" if picks != 1 else "1 pick changes"
    rest = ", ".join(
        f"{counted[bite]} {word}"
        for bite, word in (
            (Bite.GONE, "gone"),
            (Bite.DEFAULT, "defaults"),
            (Bite.RULE, "rules"),
            (Bite.PIN, "pins"),
            (Bite.NEW, "new"),
        )
        if counted[bite]
    )
    return f"vllm {old.version} to {new.version}: {said if picks else 'no pick changes'}; {rest}"


def _words(arguments: Sequence[str]) -> frozenset[str]:
    """Flags in their long spelling, and values, as the arguments have them."""
    found: set[str] = set()
    for word in arguments:
        name, _, value = word.partition("=")
        found.add(name.split(".")[0].replace("_", "-") if name.startswith("--") else name)
        if value:
            found.add(value)
    return frozenset(found)


def _uses(item: Change, words: frozenset[str]) -> bool:
    subject = item.subject.split(":")[0]
    if subject in words:
        return ": values" not in item.subject or bool(words & set(item.before.split(", ")))
    if item.section == "parsers" and subject.split(" ")[-1] in words:
        return True
    return ": spelling" in item.subject and bool(words & set(item.before.split(", ")))


def _selection(old: ReleaseSurface, new: ReleaseSurface, hardware: Hardware) -> Iterator[Change]:
    views = [
        {(view.id, view.case): view for view in describe_oracles(item, hardware.capability)}
        for item in (old, new)
    ]
    for key in dict.fromkeys((*views[0], *views[1])):
        yield from _oracle(" ".join(filter(None, key)), views[0].get(key), views[1].get(key))
    tiers = [batch_default(item, hardware) for item in (old, new)]
    texts = both(_batch, tiers[0], tiers[1])
    if texts[0] != texts[1]:
        sources = [tier.source for tier in tiers if tier is not None]
        yield change(Bite.DEFAULT, "rules", "batch of a server on this device", *texts, *sources)


def _oracle(name: str, old: OracleView | None, new: OracleView | None) -> Iterator[Change]:
    if old is None or new is None:
        bite = Bite.NEW if old is None else Bite.GONE
        shown = old or new
        assert shown is not None
        sides = both(lambda v: ", ".join(v.eligible) or v.forced or v.untold if v else "", old, new)
        yield change(bite, "oracles", name, *sides, shown.source)
        return
    picks = both(_pick, old, new)
    if picks[0] != picks[1]:
        yield change(Bite.PICK, "oracles", name, *picks, old.source, new.source)
    if old.eligible != new.eligible:
        yield change(Bite.ORDER, "oracles", name, *_moved(old, new), old.source, new.source)
    rows = {row.backend: row for row in old.rows}
    for row in new.rows:
        if row.backend in rows:
            yield from _backend(f"{name} {row.backend}", rows[row.backend], row)
        else:
            where = "asked by the automatic choice" if row.automatic else "only if named"
            yield change(Bite.NEW, "oracles", f"{name} {row.backend}", None, where, row.source)
    for backend in rows.keys() - {row.backend for row in new.rows}:
        yield change(Bite.GONE, "oracles", f"{name} {backend}", "there", None, old.source)


def _batch(tier: BatchDefault | None) -> str:
    return f"{tier.tokens:,} tokens, {tier.sequences:,} sequences" if tier else "unknown"


def _moved(old: OracleView, new: OracleView) -> tuple[str, str]:
    """What left and what came, with its place; the whole lists where only the order changed."""
    left = [name for name in old.eligible if name not in new.eligible]
    came = [_placed(name, new) for name in new.eligible if name not in old.eligible]
    if left or came:
        return ", ".join(left), ", ".join(came)
    return ", ".join(old.eligible), ", ".join(new.eligible)


def _placed(name: str, view: OracleView) -> str:
    """A candidate with its place among all that the automatic choice asks, as `BackendRow` has."""
    return f"{name} as no. {view.order.index(name) + 1}"


def _pick(view: OracleView) -> str:
    return view.forced or view.untold or (view.eligible or ("none",))[0]


def _backend(subject: str, old: BackendRow, new: BackendRow) -> Iterator[Change]:
    gone = tuple(value for value in old.flag_values if value not in new.flag_values)
    fresh = tuple(value for value in new.flag_values if value not in old.flag_values)
    if gone:
        yield change(Bite.GONE, "oracles", f"{subject}: flag value", gone, None, new.source)
    if fresh:
        yield change(Bite.NEW, "oracles", f"{subject}: flag value", None, fresh, new.source)
    if bool(old.automatic) != bool(new.automatic):
        sides = both(lambda row: "asked" if row.automatic else "never asked", old, new)
        yield change(
            Bite.ORDER, "oracles", f"{subject}: automatic choice", *sides, old.source, new.source
        )
    if old.device is not new.device:
        sides = both(lambda row: row.device.value, old, new)
        yield change(
            Bite.RULE, "oracles", f"{subject}: device rule", *sides, old.source, new.source
        )
    elif old.gates != new.gates:
        left = tuple(gate for gate in old.gates if gate not in new.gates)
        came = tuple(gate for gate in new.gates if gate not in old.gates)
        if left or came:
            yield change(Bite.RULE, "oracles", f"{subject}: guards", left, came, new.source)
