"""The bundled tasks of an A/B comparison, as many as are asked for, the same for ever.

Task n of a seed does not depend on how many are made, so a larger set begins with the smaller one.
A change to what is made needs a new name for the set: results name it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from sparkproof.core.ab import ChatMessage, Task
from sparkproof.core.digest import digest
from sparkproof.gates.ab_task_kinds import KINDS, Draft

TASK_SET = "extraction-1"
PROBE_TOKENS = 128
_ORDER = (
    *("version", "json", "identifier", "copy", "number", "tool-call"),
    *("json", "version", "list", "identifier", "probe", "number"),
)
_SPARE_TOKENS = 16
_CALL_TOKENS = 48


class Form(StrEnum):
    """How the tasks are put."""

    CHAT = "chat"
    RAW = "raw"
    """Examples and a line to go on, for ``/v1/completions``; asks for no tool."""
    MIXED = "mixed"
    """Every other one raw."""


def bundled_tasks(count: int, seed: str = "1", form: Form = Form.MIXED) -> tuple[Task, ...]:
    """The first `count` tasks of a seed."""
    return tuple(_task(index, seed, form) for index in range(count))


def set_digest(tasks: Sequence[Task]) -> str:
    """``sha256:<hex>`` over the tasks in their order."""
    return digest([msgspec.to_builtins(task) for task in tasks])


def _task(index: int, seed: str, form: Form) -> Task:
    raw = form is Form.RAW or (form is Form.MIXED and (index + index // len(_ORDER)) % 2 == 1)
    kind = _ORDER[index % len(_ORDER)]
    if raw and kind == "tool-call":
        kind = "version"
    stream = f"{TASK_SET}/{seed}/{index}/{kind}"
    draft = _draft(kind, stream)
    name = f"{TASK_SET}/{seed}/{index:05d}-{kind}"
    shared: dict[str, Any] = {
        "id": name,
        "kind": kind,
        "max_tokens": _room(draft),
        "expected": draft.expected,
        "scorer": draft.scorer,
        "tools": draft.tools,
    }
    if raw:
        stop = ("\n",) if draft.scorer else ()
        return Task(prompt=_raw_prompt(draft, kind, stream), stop=stop, **shared)
    message = ChatMessage(role="user", content=f"{draft.note}\n\n{draft.ask}")
    return Task(messages=(message,), **shared)


def _draft(kind: str, stream: str) -> Draft:
    return KINDS[kind](random.Random(stream))  # noqa: S311 - tasks, not keys


def _room(draft: Draft) -> int:
    """Enough tokens: none of them is shorter than a character."""
    if not draft.scorer:
        return PROBE_TOKENS
    return len(draft.expected) + (_CALL_TOKENS if draft.tools else _SPARE_TOKENS)


def _raw_prompt(draft: Draft, kind: str, stream: str) -> str:
    """Examples with their answers, then the task without one. A probe has nothing to show."""
    shots = {"probe": 0, "copy": 1}.get(kind, 2)
    shown = [_draft(kind, f"{stream}/example {n}") for n in range(shots)]
    parts = [f"Note: {d.note}\nRequest: {d.ask}\nAnswer: {d.expected}\n\n" for d in shown]
    return f"{''.join(parts)}Note: {draft.note}\nRequest: {draft.ask}\nAnswer:"


def request_body(task: Task) -> dict[str, Any]:
    """What of a request's body the task decides: prompt or messages, length, stops and tools."""
    body: dict[str, Any] = {"max_tokens": task.max_tokens}
    if task.messages:
        body["messages"] = [msgspec.to_builtins(message) for message in task.messages]
    else:
        body["prompt"] = task.prompt
    if task.stop:
        body["stop"] = list(task.stop)
    if task.tools:
        body["tools"] = msgspec.json.decode(task.tools)
    return body
