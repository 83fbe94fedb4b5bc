"""Every way a deployment can turn out: what was left unstated, and what could be changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.field_report import DeviceClass, FieldRecord
from sparkproof.core.results.proof import Alternative, Branch
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Verdict, fold
from sparkproof.facts.book import find_device
from sparkproof.facts.fallback import find_fallback
from sparkproof.usecases.prove.arguments import selection_args
from sparkproof.usecases.prove.branch import TOOLS, Look, prove_branch
from sparkproof.usecases.prove.summary import summarize
from sparkproof.usecases.sampler_route import with_sampler
from sparkproof.usecases.trials import general_ways, given_up, named_ways, reported_here

_BACKENDS = ("--linear-backend", "--moe-backend", "--attention-backend")


def prove_branches(look: Look, box: Box, arguments: SelectionArgs) -> tuple[Branch, ...]:
    """One branch, or one each way where the box's tools are unstated and it matters."""
    unstated = [tool for tool in TOOLS if getattr(box, tool) is None]
    if not unstated:
        return (prove_branch(look, box, arguments, {}),)
    branches = []
    for answer in (True, False):
        stated = msgspec.structs.replace(box, **dict.fromkeys(unstated, answer))
        assumptions = {f"tool:{tool}": "yes" if answer else "no" for tool in unstated}
        branches.append(prove_branch(look, stated, arguments, assumptions))
    first, second = branches
    if first.layers == second.layers:
        return (msgspec.structs.replace(first, assumptions={}),)
    return first, second


class _Trial(msgspec.Struct, frozen=True):
    """One change as it proved.

    Attributes:
        against: reports of trouble with its picks on this class of device.
        given_up: how many picks are not native.
        words: flags, values and variables that it adds.
    """

    told: Alternative
    against: tuple[FieldRecord, ...]
    given_up: int
    words: frozenset[str] = frozenset()

    @property
    def rank(self) -> tuple[int, int]:
        """Lower is better."""
        return len(self.against), self.given_up


def find_alternatives(
    look: Look, deployment: Deployment, arguments: SelectionArgs
) -> tuple[Alternative, ...]:
    """What would change the verdict or the picks, each proven before it is named.

    Another image is named with whatever it leads to, unless both fail; a flag only where it
    passes. What ends on kernels that are reported against comes after what does not.
    """
    device = find_device(deployment.device).device_class
    now = _proven(look, deployment.box, arguments, "as it is", device)
    present = now.told
    images = [
        item
        for item in _other_images(look, deployment.box, arguments, device)
        if not (item.told.verdict is Verdict.FAIL and present.verdict is Verdict.FAIL)
    ]
    passes = present.verdict is Verdict.PASS
    dropped = () if passes else tuple(_without_flags(look, deployment, device))
    others = () if dropped else _other_flags(look, deployment, now, device)
    found = sorted((*images, *dropped, *others), key=lambda item: len(item.against))
    return tuple(_unlike(present, (item.told for item in found)))


def _unlike(present: Alternative, found: Iterable[Alternative]) -> Iterator[Alternative]:
    """Those that lead elsewhere than the deployment as it is; of several alike, the first."""
    told = {(present.verdict, present.summary)}
    for item in found:
        if (item.verdict, item.summary) not in told:
            told.add((item.verdict, item.summary))
            yield item


def _other_images(
    look: Look, box: Box, arguments: SelectionArgs, device: DeviceClass
) -> Iterator[_Trial]:
    if any(getattr(box, tool) is None for tool in TOOLS):
        return
    for answer, word in ((True, "with"), (False, "without")):
        other = msgspec.structs.replace(box, **dict.fromkeys(TOOLS, answer))
        if other != box:
            change = f"{word} {' and '.join(TOOLS)} in the image"
            yield _proven(look, other, arguments, change, device)


def _without_flags(look: Look, deployment: Deployment, device: DeviceClass) -> Iterator[_Trial]:
    """The deployment without one of the backends that it names, where that alone passes."""
    for flag in _BACKENDS:
        left, taken = _apart(deployment.args, flag)
        if taken:
            arguments = selection_args(look.surface, left)
            change = f"without {' '.join(taken)}"
            proven = _proven(look, deployment.box, arguments, change, device)
            if proven.told.verdict is Verdict.PASS:
                yield proven


def _apart(args: Sequence[str], flag: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments without a flag and its value, and those two."""
    left: list[str] = []
    taken: list[str] = []
    for word in args:
        name = word.partition("=")[0].replace("_", "-")
        if name == flag or (len(taken) == 1 and "=" not in taken[0]):
            taken.append(word)
        else:
            left.append(word)
    return tuple(left), tuple(taken)


def _other_flags(
    look: Look, deployment: Deployment, now: _Trial, device: DeviceClass
) -> Iterator[_Trial]:
    """The changes that pass: what no report speaks against first, then what stays native.

    One that holds more than another that is as good is left out.
    """
    passing: list[_Trial] = []
    ways = (*named_ways(now.against, look.surface), *general_ways(look.surface))
    for name in dict.fromkeys(way.id for way in ways):
        way = find_fallback(name)
        forced = selection_args(look.surface, (*deployment.args, *way.arguments))
        changed = msgspec.structs.replace(look, env={**look.env, **way.variables})
        trial = _proven(changed, deployment.box, forced, way.change, device)
        if trial.told.verdict is Verdict.PASS:
            words = frozenset((*way.arguments, *way.variables))
            passing.append(msgspec.structs.replace(trial, words=words))
    for trial in sorted(passing, key=lambda item: item.rank):
        if not any(o.words < trial.words and o.rank <= trial.rank for o in passing):
            yield trial


def _proven(
    look: Look, box: Box, arguments: SelectionArgs, change: str, device: DeviceClass
) -> _Trial:
    branches = prove_branches(look, box, arguments)
    verdict = fold(branch.verdict for branch in branches)
    if verdict is Verdict.SKIPPED and not look.code_read:
        verdict = Verdict.PASS  # every pick is told, and there is no artifact to look for more in
    told = Alternative(with_sampler(change, box, look), verdict, summarize(branches))
    against = tuple(reported_here(look, branches, arguments, device))
    return _Trial(told, against, given_up(branches))
