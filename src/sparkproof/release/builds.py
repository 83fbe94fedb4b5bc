"""Which kernel families a source build gets, read from its CMake files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import Source
from sparkproof.core.ports import Artifact
from sparkproof.core.results.release import KernelBuild
from sparkproof.formats.cmake_text import Command, parse_cmake
from sparkproof.release.arch_list import loose_intersection, runs_on

_FILE, _UTILS = "CMakeLists.txt", "cmake/utils.cmake"
_INTERSECT, _FLAGS = "cuda_archs_loose_intersection", "set_gencode_flags_for_srcs"
_SUPPORTED, _USER = "CUDA_SUPPORTED_ARCHS", "CUDA_ARCHS"
_COMPILER = ("CMAKE_CUDA_COMPILER_VERSION", "CUDA_VERSION")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_DEFINE = re.compile(r"-D(ENABLE_\w+)=1")
_COMPARE = {
    "VERSION_GREATER_EQUAL": lambda one, two: one >= two,
    "VERSION_GREATER": lambda one, two: one > two,
    "VERSION_LESS": lambda one, two: one < two,
    "VERSION_LESS_EQUAL": lambda one, two: one <= two,
    "VERSION_EQUAL": lambda one, two: one == two,
}


def read_builds(
    artifact: Artifact, cuda: str, arch_list: tuple[str, ...], capability: ComputeCapability
) -> tuple[KernelBuild, ...]:
    """One row for each family that the build file matches with the user's architectures.

    Args:
        cuda: version of the CUDA compiler, e.g. ``13.0``.
        arch_list: ``TORCH_CUDA_ARCH_LIST``; the project's own list where it is empty.

    Raises:
        FormatError: the artifact holds no CMake file of vLLM, or one in another shape.
    """
    paths = {member.path for member in artifact.members()}
    root = min((p for p in paths if p.endswith(_FILE)), key=lambda p: (p.count("/"), p), default="")
    if not root:
        raise FormatError("holds no CMakeLists.txt", where=artifact.name)
    folder = root.removesuffix(_FILE)
    utils = _text(artifact, f"{folder}{_UTILS}", paths)
    reader = _Reader(
        root, _numbers(cuda), arch_list, exact_first="IN_LIST _TGT_CUDA_ARCHS)" in utils
    )
    reader.read(parse_cmake(_text(artifact, root, paths), root))
    if not reader.rows:
        raise FormatError("matches no kernels with architectures", where=root)
    return tuple(row.build(capability, root) for row in reader.rows)


def _text(artifact: Artifact, path: str, paths: set[str]) -> str:
    if path not in paths:
        raise FormatError("no such file in the source", where=path)
    return artifact.read(path, limit_bytes=4 << 20).decode("utf-8", "replace")


def _numbers(version: str) -> tuple[int, ...]:
    """Two numbers or more; ``13`` is ``13.0``."""
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    return found if len(found) > 1 else (*found, 0)


@dataclass
class _Row:
    variable: str
    wanted: tuple[str, ...]
    built: tuple[str, ...]
    line: int
    names: list[str] = field(default_factory=list)
    guard: str = ""

    def build(self, capability: ComputeCapability, path: str) -> KernelBuild:
        family = self.variable.removesuffix("_ARCHS").lower().replace("_", "-")
        named = f" ({', '.join(self.names)})" if self.names else ""
        built = () if self.guard else self.built
        return KernelBuild(
            family=family + named,
            wanted=self.wanted,
            built=built,
            serves=any(runs_on(arch, capability) for arch in built),
            guard=self.guard,
            source=Source(path, self.line, self.variable),
        )


class _Reader:
    """Follows one file: variables, conditions on the compiler's version, and the matching."""

    def __init__(
        self, path: str, cuda: tuple[int, ...], arch_list: tuple[str, ...], *, exact_first: bool
    ) -> None:
        self._path = path
        self._cuda = cuda
        self._arch_list = arch_list
        self._exact_first = exact_first
        self._lists: dict[str, tuple[str, ...]] = {}
        self._rows: dict[str, _Row] = {}
        self._open: list[list[bool | None]] = []
        self._inside: list[str] = []
        self.rows: list[_Row] = []

    def read(self, commands: tuple[Command, ...]) -> None:
        for command in commands:
            if command.name in ("if", "elseif", "else", "endif"):
                self._branch(command)
            elif all(states[-1] is not False for states in self._open):
                self._command(command)

    def _branch(self, command: Command) -> None:
        if command.name == "if":
            self._open.append([self._holds(command)])
            self._inside.append(" ".join(command.arguments))
        elif not self._open:
            raise FormatError("branch without its beginning", where=self._path, line=command.line)
        elif command.name == "endif":
            self._open.pop()
            self._inside.pop()
        else:
            states = self._open[-1]
            taken = True in states
            own = True if command.name == "else" else self._holds(command)
            states.append(False if taken else own)

    def _holds(self, command: Command) -> bool | None:
        """Whether a condition holds; None where it asks for what is not known here."""
        words = list(command.arguments)
        answer: bool | None = True
        while words:
            if words[0] == "AND":
                words = words[1:]
            if words[:1] == ["("] or "OR" in words:
                return None
            part, words = self._test(words)
            self._note_guard(command, part)
            if part is False:
                answer = False
            elif part is None and answer:
                answer = None
        return answer

    def _test(self, words: list[str]) -> tuple[bool | None, list[str]]:
        negated = words[0] == "NOT"
        if negated:
            words = words[1:]
        if not words:
            return None, []
        if words[0] == "DEFINED":
            return True, words[2:]
        name = words[0].removeprefix("${").removesuffix("}")
        if len(words) > 2 and words[1] in _COMPARE:
            known = name in _COMPILER
            number = _numbers(words[2])
            held = _COMPARE[words[1]](self._cuda, number) if known else None
            return (None if held is None else held is not negated), words[3:]
        if len(words) > 1 and words[1] in ("STREQUAL", "MATCHES", "EQUAL", "IN_LIST"):
            return None, words[3:]
        if name in self._lists:
            return bool(self._lists[name]) is not negated, words[1:]
        return None, words[1:]

    def _note_guard(self, command: Command, part: bool | None) -> None:
        """A version that the compiler lacks keeps families of the same test from being built."""
        if part is False and command.name == "if":
            for word in command.arguments:
                row = self._rows.get(word)
                if row is not None and row.built and not row.guard:
                    text = " ".join(command.arguments)
                    version = re.search(r"VERSION_GREATER_EQUAL (\d[\d.]*)", text)
                    if version and _numbers(version[1]) > self._cuda:
                        row.guard = f"needs CUDA {version[1]}"

    def _command(self, command: Command) -> None:
        name, arguments = command.name, command.arguments
        if name == "set" and arguments:
            self._lists[arguments[0]] = tuple(
                part for item in arguments[1:] for part in self._expand(item).split(";") if part
            )
        elif name == _INTERSECT and len(arguments) == 3:
            self._match(command)
        elif name == _FLAGS:
            self._mark(" ".join(arguments))
        elif name == "list" and arguments[:1] == ("APPEND",):
            self._define(" ".join(arguments[1:]))

    def _expand(self, text: str) -> str:
        return _VARIABLE.sub(lambda m: ";".join(self._lists.get(m[1], ())), text)

    def _match(self, command: Command) -> None:
        variable, wanted_text, given_text = command.arguments
        wanted = tuple(part for part in self._expand(wanted_text).split(";") if part)
        given = tuple(part for part in self._expand(given_text).split(";") if part)
        if variable == _USER and _SUPPORTED in wanted_text:
            given = tuple(item.removesuffix("+PTX") for item in self._arch_list) or wanted
        built = loose_intersection(wanted, given, exact_first=self._exact_first)
        self._lists[variable] = built
        if variable == _USER:
            return
        row = _Row(variable, wanted, built, command.line)
        self._rows[variable] = row
        self.rows.append(row)

    def _mark(self, text: str) -> None:
        for variable in _VARIABLE.findall(text):
            if variable in self._rows:
                self._inside[-1:] = [f"{self._inside[-1]} {variable}"] if self._inside else []

    def _define(self, text: str) -> None:
        """``-DENABLE_X=1`` inside the test of a family names what it switches on."""
        for found in _DEFINE.findall(text):
            inside = " ".join(self._inside)
            for variable in reversed(list(self._rows)):
                if re.search(rf"\b{variable}\b", inside):
                    row = self._rows[variable]
                    if found not in row.names:
                        row.names.append(found)
                    break
