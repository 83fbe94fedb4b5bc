"""The wording of a release's log calls, warnings and errors, extracted and never typed."""

from __future__ import annotations

import re

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import Message
from sparkproof.core.unknown import Unknown
from sparkproof.formats.python_calls import (
    FoundCall,
    assigned_wording,
    called_name,
    find_calls,
    joined_wording,
    plain_name,
    returned_wordings,
    wording,
)
from sparkproof.release.symbolic.modules import ModuleTable

TOPIC = "release/messages"
_LEVELS = "debug|info|warning|warn|error|exception|critical"
_CALLS = (
    re.compile(rf"ogger\.(?P<level>{_LEVELS})(?:_once)?\("),
    re.compile(rf"logging\.(?P<level>{_LEVELS})\("),
    re.compile(r"warnings\.(?P<level>warn)\("),
    re.compile(r"log_(?P<level>fn)\("),
    re.compile(r"raise (?P<error>[A-Za-z_][\w.]*)\("),
)
"""Each begins with fixed text, which is what makes a search of every file quick."""
_NOT_OURS = ("third_party/", "benchmarks/", "vllm_flash_attn/")
_NO_ERRORS = ("model_executor/models/", "models/")
"""Folders whose errors are about one architecture's shapes; their log calls are kept."""


def read_messages(
    table: ModuleTable, below: tuple[str, ...] = ("",)
) -> tuple[tuple[Message, ...], tuple[Unknown, ...]]:
    """Every wording, by file and line; calls of one wording in one file count together.

    Args:
        below: how the paths in the package begin that are read.
    """
    found: dict[tuple[str, str, str], Message] = {}
    unknowns: list[Unknown] = []
    folder = table.root.removesuffix("__init__.py")
    for path in table.sources():
        inner = path.removeprefix(folder)
        if not inner.startswith(below) or inner.startswith(_NOT_OURS):
            continue
        try:
            text = table.read_text(path)
        except FormatError as error:
            unknowns.append(Unknown.from_error(error, TOPIC))
            continue
        errors = not inner.startswith(_NO_ERRORS)
        for message in _of_file(text, path, errors=errors):
            key = (message.path, message.level, message.text)
            known = found.get(key)
            times = known.times + 1 if known else 1
            line = known.line if known else message.line
            found[key] = Message(message.text, message.level, path, line, times)
    return tuple(found.values()), tuple(unknowns)


def _wordings(text: str, call: FoundCall) -> tuple[str, ...]:
    """What a call says: literally, by a name, or by a function of the same file."""
    words = joined_wording(text, call.match.start(), call.argument) or wording(call.argument)
    if words:
        return (words,)
    name = plain_name(call.argument)
    if name:
        words = assigned_wording(text, call.match.start(), name)
        return (words,) if words else ()
    called = called_name(call.argument)
    return returned_wordings(text, called) if called else ()


def _of_file(text: str, path: str, *, errors: bool) -> list[Message]:
    found: list[Message] = []
    for call in find_calls(text, _CALLS if errors else _CALLS[:-1]):
        groups = call.match.groupdict()
        for words in _wordings(text, call):
            error = groups.get("error")
            level = f"raise {error}" if error else groups["level"]
            said = {"warn": "warning", "fn": "info"}.get(str(level), str(level))
            found.append(Message(words, said, path, call.line))
    return found
