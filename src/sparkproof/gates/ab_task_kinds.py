"""What the bundled tasks ask: made-up notes that hold exact things, and requests to give them back.

The things are those that a damaged server loses first: a part of a version, a digit of a number, a
key of an object, the middle of a long copy. Every draft is made from its seed alone.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class Draft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task before it is put as a chat or as a raw prompt.

    Attributes:
        note: the text that holds the answer, in one line.
        ask: the request.
        expected, scorer, tools: as in `core.ab.Task`.
    """

    note: str
    ask: str
    expected: str = ""
    scorer: str = ""
    tools: str = ""


_STEMS = (
    *("amber", "basalt", "cedar", "delta", "ember", "fjord"),
    *("gable", "harbor", "island", "juniper", "kelp", "lumen"),
)
_ENDS = (
    *("link", "kit", "mesh", "flow", "cast", "grid"),
    *("port", "lane", "forge", "vault", "trace", "spool"),
)
_TEAMS = ("the night crew", "the vendor", "our own team", "a contractor", "the build farm")
_CITIES = ("Bergen", "Porto", "Gdansk", "Lyon", "Turku", "Graz", "Cork", "Split")
_WORDS = (
    *("queue", "cache", "token", "index", "batch", "frame"),
    *("block", "shard", "route", "probe", "lease", "stage"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_CUTS = ("cu126", "cu129", "cu130", "cpu", "rocm64")


def _name(pick: random.Random) -> str:
    return pick.choice(_STEMS) + pick.choice(_ENDS)


def _names(pick: random.Random, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        name = _name(pick)
        if name not in found:
            found.append(name)
    return found


def _version(pick: random.Random) -> str:
    parts = [pick.randrange(4), pick.randrange(41), pick.randrange(12)]
    if pick.randrange(4) == 0:
        parts.append(pick.randrange(10))
    text = ".".join(map(str, parts))
    tail = pick.randrange(6)
    if tail == 0:
        return f"{text}+{pick.choice(_CUTS)}"
    if tail == 1:
        return f"{text}rc{pick.randrange(1, 6)}"
    if tail == 2:
        return f"{text}.post{pick.randrange(1, 4)}"
    return f"{text}.dev{pick.randrange(10, 400)}+g{_hex(pick, 9)}" if tail == 3 else text


def _hex(pick: random.Random, digits: int) -> str:
    return f"{pick.getrandbits(4 * digits):0{digits}x}"


def _snake(pick: random.Random) -> str:
    return "_".join(pick.choice(_WORDS) for _ in range(pick.randrange(2, 5)))


def _path(pick: random.Random) -> str:
    folders = "/".join(pick.choice(_WORDS) for _ in range(pick.randrange(2, 4)))
    return f"/srv/{folders}/{_snake(pick)}-{pick.randrange(100):02d}.yaml"


def _number(pick: random.Random) -> str:
    sign = "-" if pick.randrange(3) == 0 else ""
    shape = pick.randrange(4)
    if shape == 0:
        return f"{sign}{pick.randrange(1_000, 10_000_000):,}"
    if shape == 1:
        return (
            f"{sign}{pick.randrange(1, 10)}.{pick.randrange(10_000):04d}e-{pick.randrange(1, 13)}"
        )
    if shape == 2:
        return f"{sign}{pick.randrange(1_000)}.{pick.randrange(1_000_000):06d}"
    return f"{sign}{pick.randrange(100_000_000)}"


def version(pick: random.Random) -> Draft:
    """One of three versions in a sentence."""
    one, two = _names(pick, 2)
    old, new, other = _version(pick), _version(pick), _version(pick)
    note = (
        f"{pick.choice(_TEAMS)} moved {one} from {old} to {new} on {pick.choice(_DAYS)}; "
        f"{two} stays at {other} until further notice."
    )
    asked, answer = ((one, new), (two, other))[pick.randrange(2)]
    ask = f"Which version does {asked} have now? Answer with the version alone."
    return Draft(note=note, ask=ask, expected=answer, scorer="exact")


def identifier(pick: random.Random) -> Draft:
    """One of four identifiers in a log line."""
    things = {
        "request id": str(uuid.UUID(int=pick.getrandbits(128))),
        "commit": _hex(pick, 40),
        "file": _path(pick),
        "handler": _snake(pick),
    }
    asked = pick.choice(list(things))
    line = ", ".join(f"{name} {value}" for name, value in things.items())
    ask = f"Give the {asked}. Answer with it alone, exactly as it is written."
    note = f"{pick.choice(_CITIES)} {pick.randrange(24):02d}:{pick.randrange(60):02d}: {line}."
    return Draft(note=note, ask=ask, expected=things[asked], scorer="exact")


def nested(pick: random.Random) -> Draft:
    """A sentence as a nested object."""
    what, tag, tag2 = _names(pick, 3)
    value: dict[str, Any] = {
        "name": what,
        "version": _version(pick),
        "host": {"city": pick.choice(_CITIES), "port": pick.randrange(1_024, 65_536)},
        "tags": [tag, tag2],
        "retries": pick.randrange(10),
        "dry_run": pick.randrange(2) == 1,
    }
    note = (
        f"Deploy {what} {value['version']} to {value['host']['city']}, port "
        f"{value['host']['port']}, tagged {tag} and {tag2}, with {value['retries']} retries, "
        f"{'as a dry run' if value['dry_run'] else 'not as a dry run'}."
    )
    ask = (
        "Write this as one line of JSON with the keys name, version, host (with city and port), "
        "tags (a list), retries and dry_run. Answer with the JSON alone."
    )
    return Draft(note=note, ask=ask, expected=_spelt(value), scorer="json")


def number(pick: random.Random) -> Draft:
    """One of three readings, as it is written or as plain digits."""
    names = _names(pick, 3)
    values = [_number(pick) for _ in names]
    note = "; ".join(f"{name} reads {value}" for name, value in zip(names, values, strict=True))
    at = pick.randrange(3)
    if pick.randrange(2):
        ask = f"What does {names[at]} read? Answer with the number alone, exactly as it is written."
        return Draft(note=f"{note}.", ask=ask, expected=values[at], scorer="exact")
    ask = f"What does {names[at]} read? Answer with the number alone."
    return Draft(note=f"{note}.", ask=ask, expected=values[at], scorer="number")


def listing(pick: random.Random) -> Draft:
    """Every port of a sentence, in order."""
    names = _names(pick, pick.randrange(4, 9))
    ports = [pick.randrange(1_024, 65_536) for _ in names]
    said = ", ".join(f"{name} on {port}" for name, port in zip(names, ports, strict=True))
    ask = (
        "List all ports in their order as one line of JSON, a list of numbers. "
        "Answer with the JSON alone."
    )
    return Draft(note=f"Listening: {said}.", ask=ask, expected=_spelt(ports), scorer="json")


def copy(pick: random.Random) -> Draft:
    """A long text back word for word: 2 to 10 entries of some 25 to 40 tokens."""
    entries = [
        f"{_name(pick)} {_version(pick)} went to {pick.choice(_CITIES)} as {_snake(pick)}, "
        f"serial {_hex(pick, 8)}, reading {_number(pick)}."
        for _ in range(pick.randrange(2, 11))
    ]
    text = " ".join(entries)
    ask = "Repeat this text word for word, on one line. Answer with the text alone."
    return Draft(note=text, ask=ask, expected=text, scorer="exact")


def _tool(name: str, about: str, fields: Mapping[str, str]) -> dict[str, Any]:
    properties = {field: {"type": kind} for field, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    function = {"name": name, "description": about, "parameters": schema}
    return {"type": "function", "function": function}


_SCHEDULE = {
    "service": "string",
    "version": "string",
    "hour": "integer",
    "share": "number",
    "dry_run": "boolean",
}
_TOOLS = (
    _tool("schedule_rollout", "Plan the rollout of one version of a service.", _SCHEDULE),
    _tool("cancel_rollout", "Take back a planned rollout.", {"service": "string"}),
)


def tool_call(pick: random.Random) -> Draft:
    """A request that one of two tools answers."""
    what = _name(pick)
    if pick.randrange(5) == 0:
        note = f"Ticket {_hex(pick, 8)}: the rollout of {what} must not take place."
        call: dict[str, Any] = {"name": "cancel_rollout", "arguments": {"service": what}}
    else:
        arguments = {
            "service": what,
            "version": _version(pick),
            "hour": pick.randrange(24),
            "share": pick.randrange(1, 100) / 100,
            "dry_run": pick.randrange(2) == 1,
        }
        note = (
            f"Plan the rollout of {what} version {arguments['version']} for hour "
            f"{arguments['hour']}, to a share of {arguments['share']}, "
            f"{'as a dry run' if arguments['dry_run'] else 'for real and not as a dry run'}."
        )
        call = {"name": "schedule_rollout", "arguments": arguments}
    ask = "Call the tool that does this."
    tools = _spelt(list(_TOOLS))
    return Draft(note=note, ask=ask, expected=_spelt(call), scorer="tool-arguments", tools=tools)


def probe(pick: random.Random) -> Draft:
    """Open prose, which has no right answer: its tokens are compared."""
    one, two = _names(pick, 2)
    who, where = pick.choice(_TEAMS), pick.choice(_CITIES)
    note = f"Ticket {_hex(pick, 8)}: in {where} {who} replaced {one} {_version(pick)} by {two}."
    ask = "Say in a few sentences what could go wrong with that, and how one would notice."
    return Draft(note=note, ask=ask)


def _spelt(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


KINDS: Mapping[str, Callable[[random.Random], Draft]] = {
    "version": version,
    "identifier": identifier,
    "json": nested,
    "number": number,
    "list": listing,
    "copy": copy,
    "tool-call": tool_call,
    "probe": probe,
}
