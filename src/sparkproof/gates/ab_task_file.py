"""A user's own tasks: one JSON object a line.

``{"id": "a", "prompt": "…", "expected": "…", "scorer": "exact", "max_tokens": 64}``, with
``messages`` in place of ``prompt`` for a chat, and where they help ``kind``, ``stop``, ``tools``. A
task without ``scorer`` is a probe, unless a program of the user's scores all of them. ``expected``
is a text for the scorers of texts and may be any JSON value for the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec

from sparkproof.core.ab import ChatMessage, Task
from sparkproof.core.errors import FormatError
from sparkproof.formats.json_object import Fields, Json, parse_json_object
from sparkproof.gates.ab_scorers import NAMES, TEXT_SCORERS, fault_of_expected

TASKS_LIMIT = 100_000
TOKENS_LIMIT = 1 << 20
_KEYS = frozenset(Task.__struct_fields__)
_HINT_ID = "give each task an id of its own"
_HINT = "each line is an object with id, prompt or messages, max_tokens, expected and scorer"


def parse_tasks(lines: Iterable[bytes], where: str, *, own_scorer: str = "") -> tuple[Task, ...]:
    """Every task of a JSONL file; blank lines are passed over.

    Args:
        lines: with or without their ends.
        where: the file's name, for messages.
        own_scorer: name under which the user's own program scores tasks that name no scorer.

    Raises:
        FormatError: a line is no task, an id stands twice, or there is none. It names the line.
    """
    tasks: list[Task] = []
    first_line: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = _task(Fields(parse_json_object(line, where), where), own_scorer)
            _refuse_half_characters(task)
        except FormatError as error:
            raise _at_line(error, where, number) from error
        if task.id in first_line:
            message = f"id `{task.id[:60]}` stands in line {first_line[task.id]} too"
            raise FormatError(message, where=where, line=number, hint=_HINT_ID)
        if len(tasks) >= TASKS_LIMIT:
            raise FormatError(f"more than {TASKS_LIMIT} tasks", where=where, line=number)
        first_line[task.id] = number
        tasks.append(task)
    if not tasks:
        raise FormatError("no task in it", where=where, hint=_HINT)
    return tuple(tasks)


def _refuse_half_characters(task: Task) -> None:
    """Half of a surrogate pair, which JSON's escapes can spell, is in no text that can be sent."""
    try:
        msgspec.json.encode(task)
    except UnicodeEncodeError as error:
        raise FormatError("half a surrogate pair (\\ud800 to \\udfff) is no character") from error


def _at_line(error: FormatError, where: str, line: int) -> FormatError:
    return FormatError(error.reason, where=where, line=line, hint=error.hint or _HINT)


def _task(fields: Fields, own_scorer: str) -> Task:
    unknown = [key for key in fields.raw if key not in _KEYS]
    if unknown:
        raise FormatError(f"unknown field `{fields.name(unknown[0])}`")
    name = fields.text("id")
    if not name or not name.isprintable() or len(name) > 200:
        raise fields.wrong("id", "missing, too long or not printable")
    if ("prompt" in fields) == ("messages" in fields):
        raise FormatError("either `prompt` or `messages`, and not both")
    if "max_tokens" not in fields:
        raise fields.wrong("max_tokens", "missing")
    scorer = fields.text("scorer") or own_scorer
    return Task(
        id=name,
        kind=fields.text("kind", "own") or "own",
        prompt=_prompt(fields),
        messages=_messages(fields),
        max_tokens=fields.integer("max_tokens", low=1, high=TOKENS_LIMIT),
        stop=fields.texts("stop"),
        expected=_expected(fields, scorer, own_scorer),
        scorer=scorer,
        tools=_tools(fields),
    )


def _prompt(fields: Fields) -> str:
    prompt = fields.text("prompt")
    if "prompt" in fields and not prompt:
        raise fields.wrong("prompt", "empty")
    return prompt


def _messages(fields: Fields) -> tuple[ChatMessage, ...]:
    raw = fields.raw.get("messages")
    if raw is None:
        return ()
    try:
        found = msgspec.convert(raw, tuple[ChatMessage, ...])
    except msgspec.ValidationError as error:
        raise fields.wrong("messages", f"no list of role and content: {error}") from error
    if not found:
        raise fields.wrong("messages", "empty")
    return found


def _expected(fields: Fields, scorer: str, own_scorer: str) -> str:
    given = fields.raw.get("expected")
    if not scorer:
        if given is not None:
            raise FormatError(f"`expected` without a scorer ({', '.join(NAMES)})")
        return ""
    if scorer == own_scorer and scorer not in NAMES:
        return given if isinstance(given, str) else _spelt(given)
    if scorer not in NAMES:
        raise FormatError(f"no scorer `{scorer[:60]}`; there are {', '.join(NAMES)}")
    if given is None:
        raise fields.wrong("expected", "missing")
    if scorer in TEXT_SCORERS and not isinstance(given, str):
        raise fields.wrong("expected", f"no text, which `{scorer}` needs")
    text = given if isinstance(given, str) else _spelt(given)
    if fault := fault_of_expected(scorer, text):
        raise fields.wrong("expected", f"nothing for `{scorer}`: {fault}")
    return text


def _tools(fields: Fields) -> str:
    raw = fields.raw.get("tools")
    if raw is None:
        return ""
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        raise fields.wrong("tools", "no list of objects")
    if "messages" not in fields:
        raise FormatError("`tools` go with `messages`")
    return _spelt(raw)


def _spelt(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
