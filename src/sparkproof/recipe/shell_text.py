"""Shell text into commands with their variables filled in, without running any of it.

What a script can only know by running (a substitution, a variable that nothing sets) stays in
the words as a mark, and is an error only where somebody needs that word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from sparkproof.core.errors import FormatError

MAX_CHARS = 1 << 16
_MAX_EXPANDED = 1 << 20
_MARK = "\x00"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACED = re.compile(
    r"\{([A-Za-z_]\w*|[0-9]+|[@*])(\[[@*]\])?(?:(:?[-=])([^{}`\"'\\]*))?\}", re.ASCII
)
_AT_HOME = re.compile(rf"\A{_MARK}\$(?:HOME|\{{HOME\}}){_MARK}")
_HERE = re.compile(rf"\A{_MARK}(?:\$(?:PWD|\{{PWD\}}|\(pwd\))|`pwd`){_MARK}")
_OPERATOR = re.compile(r"\n|;;|;|&&|&>>|&>|>&|&|\|\||\||<<<|<<|<>|<|>>|>\||>|\(|\)")


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One simple command.

    Attributes:
        words: after expansion; redirections are left out.
        after: the operator between the command before and this one ("" for the first).
        line: in the text, 1-based.
        fed: a here-document is its input.
    """

    words: tuple[str, ...]
    after: str
    line: int
    fed: bool = False


def unreadable(words: tuple[str, ...]) -> str:
    """What in these words only running the script would tell ("" for nothing)."""
    for word in words:
        if _MARK in word:
            return word.split(_MARK)[1]
    return ""


def from_home(word: str) -> str:
    """A path that starts at the user's home or the current folder, written without the shell's
    ``$HOME`` and ``$PWD``."""
    return _HERE.sub(".", _AT_HOME.sub("~", word))


def shown(word: str) -> str:
    """A word as a message may show it."""
    return " ".join(word.replace(_MARK, "").split())[:80]


class ShellText:
    """A reader of one text. Its owner fills `variables` and `arrays` while it reads on."""

    def __init__(self, text: str, variables: dict[str, str], where: str) -> None:
        if len(text) > MAX_CHARS:
            raise FormatError(f"larger than {MAX_CHARS} characters", where=where)
        self.text = text.replace("\r\n", "\n").replace(_MARK, "")
        self.variables = variables
        self.arrays: dict[str, tuple[str, ...]] = {}
        self.where = where
        self.at = 0
        self._documents: list[str] = []
        self._expanded = 0

    def commands(self) -> Iterator[Command]:
        """Every command in order; each is expanded with what its owner knows by then.

        Raises:
            FormatError: a construct that is not read, with its line.
        """
        after = ""
        while self.at < len(self.text):
            line, documents = self._line(), len(self._documents)
            words, operator = self._words()
            fed = len(self._documents) > documents
            if operator == "\n":
                self._skip_documents()
            if words:
                yield Command(tuple(words), after, line, fed)
            if words or operator not in ("\n", ";"):
                after = operator

    def error(self, message: str, line: int = 0) -> FormatError:
        """What cannot be read, and the way out."""
        return FormatError(
            message,
            where=self.where,
            line=line or self._line(),
            hint="save `docker inspect NAME` of what it starts, or give vLLM's words after `--`",
        )

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _words(self) -> tuple[list[str], str]:
        """Words up to an operator that ends the command, and that operator."""
        words: list[str] = []
        redirected = False
        while self.at < len(self.text):
            if self._skip_blank():
                continue
            match = _OPERATOR.match(self.text, self.at)
            if match is None:
                found = self._word()
                words += [] if redirected else found
                redirected = False
                continue
            self.at = match.end()
            if match[0] in ("(", ")", ";;"):
                raise self.error(f"`{match[0]}` is not read: a subshell, function or case")
            if match[0] == "<<":
                self._document()
                continue
            if "<" not in match[0] and ">" not in match[0]:
                return words, match[0]
            if words and words[-1] in ("1", "2") and self.text[match.start() - 1].isdigit():
                words.pop()
            redirected = True
        return words, ""

    def _document(self) -> None:
        """Note where the here-document that begins here will end."""
        self.at += self.text.startswith("-", self.at)
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        word = self._word() if self.at < len(self.text) else []
        if not word:
            raise self.error("a here-document without its end word")
        self._documents.append(word[0])

    def _skip_documents(self) -> None:
        """Pass over the here-documents that follow a finished line."""
        for end in self._documents:
            match = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(self.text, self.at)
            if match is None:
                raise self.error(f"the here-document is not closed by `{end}`")
            self.at = match.end()
        self._documents = []

    def _skip_blank(self) -> bool:
        """Whether blanks, a joined line or a comment were passed over."""
        if self.text.startswith("\\\n", self.at):
            self.at += 2
        elif self.text[self.at] in " \t\r":
            self.at += 1
        elif self.text[self.at] == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        else:
            return False
        return True

    def _word(self) -> list[str]:
        """One word of the text: none, one or several after expansion."""
        parts = [""]
        quoted = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r\n;&|<>()":
                if char == "(" and re.fullmatch(r"[A-Za-z_]\w*\+?=", parts[-1]):
                    return self._array(parts[-1])
                break
            if char == "'":
                parts[-1] += self._single()
                quoted = True
            elif char == '"':
                quoted = self._double(parts) or quoted
            elif char == "\\":
                parts[-1] += "" if self.text[self.at + 1 : self.at + 2] == "\n" else self._escaped()
                self.at += 2
            elif char in "$`":
                self._split(parts, self._expansion())
            else:
                parts[-1] += char
                self.at += 1
        return parts if quoted else [part for part in parts if part]

    def _escaped(self) -> str:
        return self.text[self.at + 1 : self.at + 2]

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self.error("a quote is not closed")
        inside, self.at = self.text[self.at + 1 : end], end + 1
        return inside

    def _double(self, parts: list[str]) -> bool:
        """Join a quoted piece; whether it stands for a word even if it is empty."""
        start = self._line()
        self.at += 1
        says = self.text.startswith('"', self.at)
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return says
            if char == "\\" and self._escaped() in tuple('$`"\\\n'):
                parts[-1] += "" if self._escaped() == "\n" else self._escaped()
                self.at += 2
            elif char in "$`":
                found = self._expansion()
                says = says or bool(found)
                parts[-1] += found[0] if found else ""
                parts += found[1:]
                continue
            else:
                parts[-1] += char
                self.at += 1
            says = True
        raise self.error("a quote is not closed", start)

    def _split(self, parts: list[str], found: list[str]) -> None:
        """Join an unquoted expansion; blanks in it end words."""
        for position, item in enumerate(found):
            pieces = re.split(r"[ \t\n]+", item) if _MARK not in item else [item]
            if position:
                parts.append("")
            parts[-1] += pieces[0]
            parts += pieces[1:]

    def _array(self, name: str) -> list[str]:
        """``NAME=(…)``: kept aside; gives the assignment of its first item."""
        self.at += 1
        items: list[str] = []
        while self.at < len(self.text) and self.text[self.at] != ")":
            if not self._skip_blank():
                if self.text[self.at] == "\n":
                    self.at += 1
                elif self.text[self.at] in ";&|<>(":
                    raise self.error("an array that is not read")
                else:
                    items += self._word()
        if self.at >= len(self.text):
            raise self.error("an array is not closed")
        self.at += 1
        plain = name.rstrip("+=")
        before = self.arrays.get(plain, ()) if name.endswith("+=") else ()
        self.arrays[plain] = (*before, *items)
        return [f"{plain}={next(iter(self.arrays[plain]), '')}"]

    def _expansion(self) -> list[str]:
        """What ``$…`` or a backtick at this place stands for, as words."""
        start = self.at
        if self.text[start] == "`":
            end = self.text.find("`", start + 1)
            return self._unknown(start, len(self.text) if end < 0 else end + 1)
        if self.text.startswith("$(", start):
            return self._unknown(start, self._closing(start + 1))
        braced = _BRACED.match(self.text, start + 1)
        if braced is not None:
            self.at = braced.end()
            return self._value(braced[1], bool(braced[2]), braced[3] or "", braced[4], braced[0])
        if self.text.startswith("${", start):
            end = self.text.find("}", start)
            return self._unknown(start, len(self.text) if end < 0 else end + 1)
        name = _NAME.match(self.text, start + 1)
        if name is None:
            self.at += 1
            return ["$"]
        self.at = name.end()
        return self._value(name[0], False, "", None, name[0])

    def _value(
        self, name: str, whole: bool, operator: str, default: str | None, shown: str
    ) -> list[str]:
        if name in "@*":
            return []
        if whole and name in self.arrays:
            return list(self._bounded(self.arrays[name]))
        value = self.variables.get(name)
        self._bounded((value or "",))
        if value or (value is not None and not operator.startswith(":")):
            return [value]
        if default is None:
            return [f"{_MARK}${shown}{_MARK}"]
        if "$" in default:
            inner = ShellText(default, self.variables, self.where)
            words = [word for command in inner.commands() for word in command.words]
            return [" ".join(words)]
        return [default]

    def _bounded(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The same, unless variables have grown out of themselves."""
        self._expanded += sum(map(len, words)) + len(words)
        if self._expanded > _MAX_EXPANDED:
            raise self.error(f"its variables fill in more than {_MAX_EXPANDED} characters")
        return words

    def _closing(self, start: int) -> int:
        """Behind the bracket that closes the one at `start`."""
        depth = 0
        for position in range(start, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[position], 0)
            if not depth:
                return position + 1
        raise self.error("a `$(` is not closed")

    def _unknown(self, start: int, end: int) -> list[str]:
        self.at = end
        shown = " ".join(self.text[start:end].split())
        return [f"{_MARK}{shown[:80]}{_MARK}"]
