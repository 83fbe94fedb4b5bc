"""Is this answer right? One function a name; a task says which.

A scorer is pure and takes the answer's text and the task's `expected`. Spaces around an answer and
one code fence or pair of backticks about it are no part of it; nothing else is forgiven.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from sparkproof.core.ab import Score
from sparkproof.core.errors import FormatError
from sparkproof.formats.json_object import Json, parse_json_object

_FENCE = re.compile(r"\A```[\w+-]*[ \t]*\n(.*?)\n?```\Z", re.DOTALL)
_TICKED = re.compile(r"\A`([^`\n]+)`\Z")
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?")
_SHOWN = 60


def _bare(text: str) -> str:
    text = text.strip()
    for wrapping in (_FENCE, _TICKED):
        if found := wrapping.match(text):
            return found[1].strip()
    return text


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def score_exact(text: str, expected: str) -> Score:
    """The very text."""
    said, wanted = _bare(text), expected.strip()
    if wanted in (said, text.strip()):
        return Score(exact=True)
    pairs = zip(said, wanted, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(said), len(wanted)))
    return Score(
        False, f"from character {at}: {_shown(said[at:])} in place of {_shown(wanted[at:])}"
    )


def score_contains(text: str, expected: str) -> Score:
    """The text stands somewhere in the answer."""
    found = expected.strip() in text
    return Score(found, "" if found else f"{_shown(expected.strip())} is not in it")


def score_found(found: bool | None, expected: str) -> Score:
    """A pattern is found somewhere in the answer.

    Args:
        found: None where the search took too long: patterns are searched apart from the others,
            since they may backtrack without end.
    """
    if found is None:
        return Score(False, f"{_shown(expected)} found nothing in all its processor time")
    return Score(found, "" if found else f"nothing in it matches {_shown(expected)}")


def score_number(text: str, expected: str) -> Score:
    """The same value, however it is written: `1,204.50` is `1204.5`. Exactly one number counts."""
    said, wanted = _NUMBER.findall(text), _decimal(expected)
    if len(said) != 1:
        return Score(False, f"{len(said)} numbers in it")
    value = _decimal(said[0])
    right = value is not None and value == wanted
    return Score(right, "" if right else f"{said[0][:_SHOWN]} in place of {expected.strip()}")


def _decimal(text: str) -> Decimal | None:
    try:
        value = Decimal(text.strip().replace(",", ""))
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def score_json(text: str, expected: str) -> Score:
    """The same JSON value; order of keys and spelling of numbers aside (`1.0` is `1`)."""
    return _score_json(text, expected, subset=False)


def score_json_subset(text: str, expected: str) -> Score:
    """As `json`, but objects may hold more keys than expected."""
    return _score_json(text, expected, subset=True)


def _score_json(text: str, expected: str, *, subset: bool) -> Score:
    try:
        said = _parse(_bare(text), "the answer")
    except FormatError as error:
        return Score(False, error.reason)
    fault = _difference(said, _parse(expected, "expected"), "", subset=subset)
    return Score(not fault, fault)


def _parse(text: str, where: str) -> Json:
    """Any JSON value, as strictly as an object is read.

    Raises:
        FormatError: it is none.
    """
    try:
        data = b'{"":' + text.encode() + b"}"
    except UnicodeEncodeError as error:
        raise FormatError("not UTF-8", where=where) from error
    value = parse_json_object(data, where)
    if len(value) != 1:
        raise FormatError("not JSON: more than one value", where=where)
    return value[""]


def _difference(said: Json, wanted: Json, path: str, *, subset: bool) -> str:
    """The first path at which `said` is not `wanted`, and how; "" where it is."""
    place = path or "the top"
    if isinstance(wanted, dict) and isinstance(said, dict):
        return _key_difference(said, wanted, path, subset=subset)
    if isinstance(wanted, list) and isinstance(said, list):
        for n, (one, other) in enumerate(zip(said, wanted, strict=False)):
            if fault := _difference(one, other, f"{path}[{n}]", subset=subset):
                return fault
        same = len(said) == len(wanted)
        return "" if same else f"{place}: {len(said)} items in place of {len(wanted)}"
    if _same_kind(said, wanted) and said == wanted:
        return ""
    return f"{place}: {_shown(_spelt(said))} in place of {_shown(_spelt(wanted))}"


def _key_difference(
    said: dict[str, Json], wanted: dict[str, Json], path: str, *, subset: bool
) -> str:
    for key, value in wanted.items():
        below = f"{path}.{key[:_SHOWN]}" if path else key[:_SHOWN]
        if key not in said:
            return f"{below}: missing"
        if fault := _difference(said[key], value, below, subset=subset):
            return fault
    more = [key for key in said if key not in wanted]
    if more and not subset:
        return f"{path + '.' if path else ''}{more[0][:_SHOWN]}: not expected"
    return ""


def _same_kind(a: Json, b: Json) -> bool:
    """To Python `True` is 1; to JSON it is not."""
    return isinstance(a, bool) == isinstance(b, bool)


def _spelt(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def tool_call_text(calls: Sequence[tuple[str, str]]) -> str:
    """The text that `tool-arguments` reads: names and arguments as the server gave them."""
    return _spelt([{"name": name, "arguments": arguments} for name, arguments in calls])


def score_tool_arguments(text: str, expected: str) -> Score:
    """The very calls in their order: names, and arguments as JSON.

    Both texts are one call ``{"name": …, "arguments": …}`` or a list of calls; arguments may be an
    object or the text of one, as servers send it.
    """
    try:
        said = _calls(_parse(text.strip() or "[]", "the answer"))
    except FormatError as error:
        return Score(False, error.reason)
    wanted = _calls(_parse(expected, "expected"))
    if len(said) != len(wanted):
        return Score(False, f"{len(said)} calls in place of {len(wanted)}")
    for n, (one, other) in enumerate(zip(said, wanted, strict=True)):
        if fault := _difference(one, other, f"[{n}]", subset=False):
            return Score(False, fault)
    return Score(exact=True)


def _calls(value: Json) -> list[Json]:
    found: list[Json] = []
    for call in value if isinstance(value, list) else [value]:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise FormatError("a tool call without a name")
        arguments = call.get("arguments", {})
        if isinstance(arguments, str):
            arguments = _parse(arguments.strip() or "{}", "arguments")
        found.append({"name": call["name"], "arguments": arguments})
    return found


SCORERS: Mapping[str, Callable[[str, str], Score]] = {
    "exact": score_exact,
    "json": score_json,
    "json-subset": score_json_subset,
    "contains": score_contains,
    "number": score_number,
    "tool-arguments": score_tool_arguments,
}
REGEX = "regex"
NAMES = (*SCORERS, REGEX)
"""Of all scorers."""
TEXT_SCORERS = frozenset({"exact", REGEX, "contains"})
"""Those whose `expected` is a text and no JSON."""


def fault_of_expected(scorer: str, expected: str) -> str:
    """Why `scorer` can't read `expected`; "" where it can. Asked before anything is run."""
    if scorer == REGEX:
        try:
            re.compile(expected)
        except (re.error, RecursionError, OverflowError) as error:
            return f"no regular expression: {error}"
    if scorer == "number" and _decimal(expected) is None:
        return f"{_shown(expected)} is no number"
    if scorer in {"exact", "contains"} and not expected.strip():
        return "nothing is expected"
    if scorer in {"json", "json-subset", "tool-arguments"}:
        try:
            value = _parse(expected, "expected")
            if scorer == "tool-arguments":
                _calls(value)
        except FormatError as error:
            return error.reason
    return ""
