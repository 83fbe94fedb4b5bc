"""What is reported against a release's picks, with the change that gets around it, proven. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.field_report import FieldRecord
from sparkproof.core.results.proof import Branch
from sparkproof.core.results.upgrade import Action, Edit
from sparkproof.core.verdict import Verdict, fold
from sparkproof.facts.book import find_device
from sparkproof.facts.fallback import Fallback
from sparkproof.upgrade.arguments import read_given
from sparkproof.upgrade.view import Reported
from sparkproof.usecases.prove.alternatives import prove_branches
from sparkproof.usecases.prove.arguments import selection_args
from sparkproof.usecases.prove.branch import Look
from sparkproof.usecases.trials import named_ways, reported_here

_BAD = (Verdict.FAIL, Verdict.ERROR)


def reported_of(
    look: Look, deployment: Deployment, branches: Sequence[Branch]
) -> tuple[Reported, ...]:
    """One item a record that speaks against a pick on this class of device."""
    device = find_device(deployment.device).device_class
    arguments = selection_args(look.surface, deployment.args)
    found = reported_here(look, branches, arguments, device)
    return tuple(
        Reported(
            record=record,
            subjects=subjects,
            backends=", ".join(dict.fromkeys(_backends(branches, subjects))),
            edits=_way_around(look, deployment, branches, record),
        )
        for record, subjects in found.items()
    )


def _backends(branches: Sequence[Branch], subjects: Sequence[str]) -> Iterator[str]:
    for branch in branches:
        for layer in branch.layers:
            if layer.subject in subjects and layer.backend:
                yield layer.backend


def _way_around(
    look: Look, deployment: Deployment, branches: Sequence[Branch], record: FieldRecord
) -> tuple[Edit, ...]:
    """The first change that the record names which leaves its picks, and fails nowhere new."""
    device = find_device(deployment.device).device_class
    failed = fold(item.verdict for item in branches) in _BAD
    given = {item.flag for item in read_given(deployment.args, look.surface)}
    for way in named_ways((record,), look.surface):
        if given & set(way.flags) or deployment.env.keys() & way.variables.keys():
            continue
        changed = msgspec.structs.replace(look, env={**look.env, **way.variables})
        arguments = selection_args(look.surface, (*deployment.args, *way.arguments))
        again = prove_branches(changed, deployment.box, arguments)
        fails = fold(item.verdict for item in again) in _BAD
        if record not in reported_here(changed, again, arguments, device) and fails <= failed:
            return tuple(_edits(way))
    return ()


def _edits(way: Fallback) -> Iterator[Edit]:
    for name, value in way.variables.items():
        yield Edit(Action.ADD, name, value, variable=True)
    words = list(way.arguments)
    while words:
        flag = words.pop(0)
        value = words.pop(0) if words and not words[0].startswith("-") else ""
        yield Edit(Action.ADD, flag, value)
