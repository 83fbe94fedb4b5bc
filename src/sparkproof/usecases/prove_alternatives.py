"""Every way a deployment can turn out: what was left unstated, and what could be changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.proof import Alternative, Branch
from sparkproof.core.selection_args import SelectionArgs
from sparkproof.core.verdict import Verdict, fold
from sparkproof.facts.fallback import Fallback, fallbacks
from sparkproof.usecases.prove_arguments import selection_args
from sparkproof.usecases.prove_branch import TOOLS, Look, prove_branch
from sparkproof.usecases.prove_summary import summarize

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


def find_alternatives(
    look: Look, deployment: Deployment, arguments: SelectionArgs
) -> tuple[Alternative, ...]:
    """What would change the verdict or the picks, each proven before it is named.

    Another image is named with whatever it leads to, unless both fail; a flag only where it
    passes.
    """
    present = _proven(look, deployment.box, arguments, "as it is")
    images = [
        item
        for item in _other_images(look, deployment.box, arguments)
        if not (item.verdict is Verdict.FAIL and present.verdict is Verdict.FAIL)
    ]
    dropped = () if present.verdict is Verdict.PASS else tuple(_without_flags(look, deployment))
    others = () if dropped else _other_flags(look, deployment)
    return tuple(_unlike(present, (*images, *dropped, *others)))


def _unlike(present: Alternative, found: Iterable[Alternative]) -> Iterator[Alternative]:
    """Those that lead elsewhere than the deployment as it is; of several alike, the first."""
    told = {(present.verdict, present.summary)}
    for item in found:
        if (item.verdict, item.summary) not in told:
            told.add((item.verdict, item.summary))
            yield item


def _other_images(look: Look, box: Box, arguments: SelectionArgs) -> Iterator[Alternative]:
    if any(getattr(box, tool) is None for tool in TOOLS):
        return
    for answer, word in ((True, "with"), (False, "without")):
        other = msgspec.structs.replace(box, **dict.fromkeys(TOOLS, answer))
        if other != box:
            change = f"{word} {' and '.join(TOOLS)} in the image"
            yield _proven(look, other, arguments, change)


def _without_flags(look: Look, deployment: Deployment) -> Iterator[Alternative]:
    """The deployment without one of the backends that it names, where that alone passes."""
    for flag in _BACKENDS:
        left, taken = _apart(deployment.args, flag)
        if taken:
            arguments = selection_args(look.surface, left)
            proven = _proven(look, deployment.box, arguments, f"without {' '.join(taken)}")
            if proven.verdict is Verdict.PASS:
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


def _other_flags(look: Look, deployment: Deployment) -> Iterator[Alternative]:
    """The changes that pass; one that holds more than another that passes is left out."""
    enough: list[set[str]] = []
    for fallback in fallbacks():
        words = {*fallback.arguments, *fallback.variables}
        if not _applicable(fallback, look.surface) or any(less < words for less in enough):
            continue
        forced = selection_args(look.surface, (*deployment.args, *fallback.arguments))
        changed = msgspec.structs.replace(look, env={**look.env, **fallback.variables})
        proven = _proven(changed, deployment.box, forced, fallback.change)
        if proven.verdict is Verdict.PASS:
            enough.append(words)
            yield proven


def _applicable(fallback: Fallback, surface: ReleaseSurface) -> bool:
    """Whether the release has every flag and variable of it."""
    return all(surface.option(flag) for flag in fallback.flags) and all(
        name in surface.env_names for name in fallback.variables
    )


def _proven(look: Look, box: Box, arguments: SelectionArgs, change: str) -> Alternative:
    branches = prove_branches(look, box, arguments)
    verdict = fold(branch.verdict for branch in branches)
    if verdict is Verdict.SKIPPED and not look.code_read:
        verdict = Verdict.PASS  # every pick is told, and there is no artifact to look for more in
    return Alternative(change, verdict, summarize(branches))
