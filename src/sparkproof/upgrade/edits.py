"""A deployment with edits applied to its words; what is not named stays as it was typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.upgrade import Action, Edit
from sparkproof.upgrade.arguments import Given, read_given


def apply_edits(
    deployment: Deployment, edits: Sequence[Edit], *surfaces: ReleaseSurface
) -> Deployment:
    """The deployment as the edits leave it; an edit that is made already changes nothing."""
    arguments, variables = list(deployment.args), dict(deployment.env)
    for edit in dict.fromkeys(edits):
        if edit.variable:
            if edit.action is Action.DROP:
                variables.pop(edit.name, None)
            else:
                variables[edit.name] = edit.value
        else:
            arguments = _argument(arguments, edit, surfaces)
    return msgspec.structs.replace(deployment, args=tuple(arguments), env=variables)


def _argument(arguments: list[str], edit: Edit, surfaces: Sequence[ReleaseSurface]) -> list[str]:
    given = read_given(arguments, *surfaces)
    mentions = [item for item in given if edit.name in (item.flag, item.typed)]
    if edit.action is Action.ADD and mentions:
        return arguments
    if edit.action is Action.ADD:
        return [*arguments, *_words(edit)]
    for item in reversed(mentions):
        if edit.key and item.key != edit.key[: len(item.key)]:
            continue
        words = _replaced(arguments, item, edit)
        arguments = [*arguments[: item.start], *words, *arguments[item.end :]]
    return arguments


def _words(edit: Edit) -> list[str]:
    name = ".".join((edit.name, *edit.key))
    return [name, edit.value] if edit.value else [name]


def _replaced(arguments: list[str], item: Given, edit: Edit) -> list[str]:
    """The words that stand for one mention afterwards."""
    below = edit.key[len(item.key) :]
    typed = arguments[item.start].partition("=")[0]
    if below:
        if not isinstance(item.raw, dict):
            return arguments[item.start : item.end]
        document = _below(item.raw, below, edit)
        return [typed, json.dumps(document)] if document else []
    if edit.action is Action.DROP:
        return []
    return [typed, edit.value] if edit.value else [typed]


def _below(document: dict[str, Any], key: tuple[str, ...], edit: Edit) -> dict[str, Any]:
    """The object with one key changed or gone."""
    changed = dict(document)
    if len(key) > 1:
        inner = changed.get(key[0])
        if isinstance(inner, dict):
            changed[key[0]] = _below(inner, key[1:], edit)
    elif edit.action is Action.DROP:
        changed.pop(key[0], None)
    else:
        changed[key[0]] = edit.value
    return changed
