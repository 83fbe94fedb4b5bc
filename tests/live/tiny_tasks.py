"""Tasks in the very form that the tiny checkpoint was trained on, in the users' own task format.

``python tests/live/tiny_tasks.py 60 > tasks.jsonl``. Names are those it has seen most; two of three
tasks are raw, the third is a chat. Counting has one answer, too, and is a long copy for a drafter.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

_NAMES = ["vllm", "torch", "numpy", "marlin", "fastapi", "uvicorn"]
_VERBS = ("released", "shipped", "published", "tagged", "announced")
_TEAMS = ("the core team", "a maintainer", "the build bot", "our group", "the vendor")


def tiny_tasks(count: int, seed: int = 7) -> bytes:
    """The first `count` tasks of a seed as JSONL."""
    pick = random.Random(seed)
    return b"".join(json.dumps(_task(n, pick)).encode() + b"\n" for n in range(count))


def _task(number: int, pick: random.Random) -> dict[str, Any]:
    question, expected, scorer = _count(pick) if number % 5 == 4 else _extract(pick)
    task: dict[str, Any] = {
        "id": f"tiny-{number:04d}",
        "kind": "count" if scorer == "exact" else "extract",
        "max_tokens": 96,
        "expected": expected,
        "scorer": scorer,
    }
    if number % 3 == 2:
        return {**task, "messages": [{"role": "user", "content": question}]}
    return {**task, "prompt": f"{question}\n", "stop": ["\n"]}


def _extract(pick: random.Random) -> tuple[str, dict[str, str], str]:
    team, verb, name = pick.choice(_TEAMS), pick.choice(_VERBS), pick.choice(_NAMES)
    version = f"{pick.randrange(3)}.{pick.randrange(40)}.{pick.randrange(10)}"
    answer = {"name": name, "version": version, "by": team}
    return f"Extract: {team} {verb} {name} {version}.", answer, "json"


def _count(pick: random.Random) -> tuple[str, str, str]:
    start = pick.randrange(1, 81)
    return f"Count from {start}:", " ".join(str(n) for n in range(start, start + 12)), "exact"


if __name__ == "__main__":
    sys.stdout.buffer.write(tiny_tasks(int(sys.argv[1])))
