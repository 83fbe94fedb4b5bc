"""Finding calls in Python text by their first argument, without parsing the whole file.

A release has thousands of files and only a few thousand calls that matter; parsing just those
costs a fraction of parsing every file.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_PARTS = re.compile(
    r"\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\#[^\n]*|[()\[\]{},]",
    re.DOTALL,
)
_MAX_ARGUMENT = 4000
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*\Z")
_CALLED = re.compile(r"\s*([A-Za-z_]\w*)\(")
_JOINED = re.compile(r"\"(?P<separator>[^\"\n]*)\"\.join\((?P<name>[A-Za-z_]\w*)\)")
_MAX_FUNCTION = 20_000


class FoundCall(NamedTuple):
    """A call by its place.

    Attributes:
        line: 1-based, of the call's name.
        match: what the pattern caught.
        argument: source text of the first argument, "" for none.
    """

    line: int
    match: re.Match[str]
    argument: str


def find_calls(text: str, patterns: Iterable[re.Pattern[str]]) -> Iterator[FoundCall]:
    """Calls that one of the patterns finds, in order; each ends with the opening bracket.

    Matches inside comments and strings are left out as far as a look at their line tells.
    """
    matches = [match for pattern in patterns for match in pattern.finditer(text)]
    line, position = 1, 0
    for match in sorted(matches, key=lambda item: item.start()):
        line += text.count("\n", position, match.start())
        position = match.start()
        before = text[text.rfind("\n", 0, position) + 1 : position]
        if "#" in before or before.count('"') % 2 or before.count("'") % 2 or "`" in before:
            continue
        yield FoundCall(line, match, _first_argument(text, match.end()))


def _first_argument(text: str, start: int) -> str:
    depth = 0
    for part in _PARTS.finditer(text, start, start + _MAX_ARGUMENT):
        mark = part[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            if not depth:
                return text[start : part.start()]
            depth -= 1
        elif mark == "," and not depth:
            return text[start : part.start()]
    return ""


def wording(argument: str) -> str:
    """The text of an argument: literals joined, ``{name}`` where a value goes, "" if none."""
    stripped = argument.strip()
    if not stripped:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(f"({stripped}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    text = _text(node)
    return text if any(character.isalpha() for character in _without_values(text)) else ""


def _without_values(text: str) -> str:
    return re.sub(r"\{[^{}]*\}", "", text)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return "{" + _brief(node.value) + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return (left or "{" + _brief(node.left) + "}") + (right or "{" + _brief(node.right) + "}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _text(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("format", "strip", "rstrip"):
            return _text(node.func.value)
        if node.func.attr == "dedent" and node.args:
            return _text(node.args[0])
    if isinstance(node, ast.IfExp):
        return _text(node.body) or _text(node.orelse)
    return ""


def _brief(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 40 else text[:39] + "…"


def plain_name(argument: str) -> str:
    """The name that an argument is, "" where it is anything else."""
    found = _NAME.match(argument)
    return found[1] if found else ""


def joined_wording(text: str, end: int, argument: str, reach: int = 5000) -> str:
    """The text of ``"start " + ", ".join(NAME)``, with the pieces that NAME was given before."""
    found = _JOINED.search(argument)
    if found is None:
        return ""
    separator, name = found["separator"], found["name"]
    start = max(0, end - reach)
    beginning = list(re.finditer(rf"\n[ \t]*{name}[^=\n]*=[ \t]*(?=\[)", text[start:end]))
    if not beginning:
        return ""
    opened = start + beginning[-1].end()
    pieces = _elements(_expression(text, opened))
    for match in re.finditer(rf"\b{name}\.append\(", text[opened:end]):
        piece = wording(_first_argument(text, opened + match.end()))
        pieces += [piece] if piece else []
    lead = wording(argument[: found.start()].rstrip().rstrip("+").strip() or '""')
    return lead + separator.join(pieces) if pieces else ""


def _elements(text: str) -> list[str]:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    elements = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return [said for said in map(_text, elements) if said]


def called_name(argument: str) -> str:
    """``name`` of an argument ``name(…)``, "" where it is anything else."""
    found = _CALLED.match(argument)
    return found[1] if found else ""


def returned_wordings(text: str, name: str) -> tuple[str, ...]:
    """What the functions of that name in a file return, as far as it is text."""
    found: list[str] = []
    for match in re.finditer(rf"^(?P<indent>[ \t]*)def {re.escape(name)}\(", text, re.MULTILINE):
        block = _block(text, match.start(), len(match["indent"]))
        try:
            tree = ast.parse(textwrap.dedent(block))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
        for node in sorted(returns, key=lambda item: item.lineno):
            said = _text(node.value) if node.value is not None else ""
            if any(character.isalpha() for character in _without_values(said)):
                found.append(said)
    return tuple(dict.fromkeys(found))


def _block(text: str, start: int, indent: int) -> str:
    """The lines of a function: until one that is indented no deeper, brackets left aside."""
    lines = text[start : start + _MAX_FUNCTION].splitlines(keepends=True)
    kept = lines[:1]
    for line in lines[1:]:
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth <= indent and not line.lstrip().startswith((")", "]", "}")):
            break
        kept.append(line)
    return "".join(kept)


def assigned_wording(text: str, end: int, name: str, reach: int = 3000) -> str:
    """The text that a name was last given before position `end`, "" where that is no literal."""
    start = max(0, end - reach)
    pattern = re.compile(rf"\n[ \t]*{re.escape(name)}(?:[ \t]*:[^=\n]*)?[ \t]*=(?!=)[ \t]*")
    last = None
    for last in pattern.finditer(text, start, end):  # noqa: B007
        pass
    return wording(_expression(text, last.end())) if last is not None else ""


def _expression(text: str, start: int) -> str:
    """The expression that begins there: to the end of its line, or of its brackets."""
    depth = 0
    position = start
    for part in _PARTS.finditer(text, start, start + _MAX_ARGUMENT):
        if not depth and "\n" in text[position : part.start()]:
            break
        mark = part[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        position = part.end()
        if depth < 0:
            break
    end = text.find("\n", position)
    return text[start : end if end >= 0 else len(text)]
