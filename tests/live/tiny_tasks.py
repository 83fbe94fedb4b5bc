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
_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo zu lin tor net fast py"
_TEAMS = ("the core team", "a maintainer", "the build bot", "our group", "the vendor")


def tiny_tasks(count: int, seed: int = 7) -> bytes:
    """The first `count` tasks of a seed as JSONL."""
    pick = random.Random(seed)
    return b"".join(json.dumps(_task(n, pick)).encode() + b"\n" for n in range(count))


def made_up_tasks(count: int, seed: int = 7) -> bytes:
    """Extractions of names made of two syllables, which take a whole training to copy.

    Of 40 the shipped checkpoint got 34 right, one of 900 steps 4: sound JSON, the right version,
    another name (2026-11-30, transformers, greedy).
    """
    pick, parts = random.Random(seed), _SYLLABLES.split()
    lines = []
    for number in range(count):
        name = pick.choice(parts) + pick.choice(parts)
        question, expected, scorer = _extract(pick, name)
        task = {"id": f"made-up-{number:04d}", "kind": "made-up", "max_tokens": 96}
        task |= {"prompt": f"{question}\n", "stop": ["\n"], "expected": expected, "scorer": scorer}
        lines.append(json.dumps(task).encode() + b"\n")
    return b"".join(lines)


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


def _extract(pick: random.Random, name: str = "") -> tuple[str, dict[str, str], str]:
    team, verb = pick.choice(_TEAMS), pick.choice(_VERBS)
    name = name or pick.choice(_NAMES)
    version = f"{pick.randrange(3)}.{pick.randrange(40)}.{pick.randrange(10)}"
    answer = {"name": name, "version": version, "by": team}
    return f"Extract: {team} {verb} {name} {version}.", answer, "json"


def _count(pick: random.Random) -> tuple[str, str, str]:
    start = pick.randrange(1, 81)
    return f"Count from {start}:", " ".join(str(n) for n in range(start, start + 12)), "exact"


if __name__ == "__main__":
    sys.stdout.buffer.write(tiny_tasks(int(sys.argv[1])))
