"""The modules of an artifact, parsed when first asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_surface import Source
from sparkproof.core.ports import Artifact
from sparkproof.core.unknown import Unknown
from sparkproof.formats.python_source import MAX_SOURCE_BYTES, parse_source

_LIBRARY_SUFFIXES = (".so", ".pyd")
MAX_SOURCES = 20_000
"""Several times what any release has; 0.33.0 has 3,200."""


@dataclass
class Module:
    """One parsed source file.

    Attributes:
        bindings: name to the top-level statements that bind it, in order.
        stars: modules whose public names are taken over.
    """

    name: str
    path: str
    tree: ast.Module
    is_package: bool
    bindings: dict[str, list[ast.stmt]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def source(self, node: ast.AST | None, symbol: str = "") -> Source:
        """Where a node of this module stands."""
        return Source(path=self.path, line=getattr(node, "lineno", 0) or 0, symbol=symbol)

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that a ``from … import`` names, with relative dots resolved."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        keep = len(parts) - node.level + (1 if self.is_package else 0)
        return ".".join([*parts[: max(0, keep)], *([node.module] if node.module else [])])


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, also inside its branches."""
    if isinstance(statement, ast.Import):
        yield from (item.asname or item.name.split(".")[0] for item in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        yield from (item.asname or item.name for item in statement.names)
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _targets(target)
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        yield from _targets(statement.target)
    elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For):
        for inner in _nested(statement):
            yield from bound_names(inner)


def _targets(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Tuple | ast.List):
        for item in node.elts:
            yield from _targets(item)


def _nested(statement: ast.stmt) -> Iterator[ast.stmt]:
    for block in ("body", "orelse", "finalbody"):
        yield from getattr(statement, block, [])
    for handler in getattr(statement, "handlers", []):
        yield from handler.body


class ModuleTable:
    """Finds, reads and keeps the source files of one artifact's package."""

    def __init__(self, artifact: Artifact, package: str = "vllm") -> None:
        self._artifact = artifact
        self.package = package
        self._paths = {member.path for member in artifact.members()}
        self._prefix = self._find_prefix()
        self._modules: dict[str, Module | None] = {}
        self.unknowns: list[Unknown] = []

    def _find_prefix(self) -> str | None:
        """The folder that holds the package: the shallowest with its ``__init__.py``."""
        suffix = f"{self.package}/__init__.py"
        found = [
            path[: -len(suffix)]
            for path in self._paths
            if path == suffix or path.endswith("/" + suffix)
        ]
        return min(found, key=lambda prefix: (prefix.count("/"), prefix), default=None)

    @property
    def present(self) -> bool:
        """Whether the artifact holds the package at all."""
        return self._prefix is not None

    @property
    def root(self) -> str:
        """Path of the package's ``__init__.py``."""
        return f"{self._prefix or ''}{self.package}/__init__.py"

    def owns(self, name: str) -> bool:
        """Whether a dotted name lies in the package's namespace."""
        return name == self.package or name.startswith(self.package + ".")

    def _candidates(self, name: str) -> tuple[tuple[str, bool], ...]:
        base = f"{self._prefix or ''}{name.replace('.', '/')}"
        return (f"{base}/__init__.py", True), (f"{base}.py", False)

    def exists(self, name: str) -> bool:
        """Whether an import of the module would find a file: source, library or folder."""
        if any(path in self._paths for path, _ in self._candidates(name)):
            return True
        base = f"{self._prefix or ''}{name.replace('.', '/')}"
        return any(
            path.startswith(base + "/")
            or (path.startswith(base + ".") and path.endswith(_LIBRARY_SUFFIXES))
            for path in self._paths
        )

    def submodules(self, package: str) -> tuple[str, ...]:
        """The package's own source modules and itself, one level deep, by path."""
        base = f"{self._prefix or ''}{package.replace('.', '/')}/"
        found: list[str] = []
        for path in sorted(self._paths):
            rest = path[len(base) :] if path.startswith(base) else ""
            if rest.endswith(".py") and "/" not in rest:
                found.append(package if rest == "__init__.py" else f"{package}.{rest[:-3]}")
        return tuple(found)

    def sources(self, folder: str = "") -> tuple[str, ...]:
        """Paths of all source files below a folder of the package, by path.

        Where there are more than any release has, the rest is one `Unknown`.
        """
        base = f"{self._prefix or ''}{self.package}/{folder}"
        found = sorted(p for p in self._paths if p.startswith(base) and p.endswith(".py"))
        if len(found) > MAX_SOURCES:
            why = f"{len(found)} source files, of which {MAX_SOURCES} are read"
            unknown = Unknown(base, why, "release/source")
            if unknown not in self.unknowns:
                self.unknowns.append(unknown)
        return tuple(found[:MAX_SOURCES])

    def has_path(self, path: str) -> bool:
        """Whether the artifact has a member of that path."""
        return path in self._paths

    def libraries(self) -> tuple[str, ...]:
        """All compiled members, by path."""
        return tuple(sorted(p for p in self._paths if p.endswith(_LIBRARY_SUFFIXES)))

    def get(self, name: str) -> Module | None:
        """The module, or None where there is none or it can't be parsed (then an `Unknown`)."""
        if name not in self._modules:
            self._modules[name] = None
            self._modules[name] = self._load(name)
        return self._modules[name]

    def path_of(self, name: str) -> str:
        """The path of a module's source, or where it was looked for."""
        candidates = self._candidates(name)
        found = [path for path, _ in candidates if path in self._paths]
        return found[0] if found else candidates[1][0]

    def text(self, name: str) -> str:
        """The source text of a module, "" where it can't be had."""
        path = self.path_of(name)
        return self.text_at(path) if path in self._paths else ""

    def text_at(self, path: str) -> str:
        """The text of a member, "" where it can't be had (then an `Unknown`)."""
        try:
            return self.read_text(path)
        except FormatError as error:
            self.unknowns.append(Unknown.from_error(error, "release/source"))
            return ""

    def read_text(self, path: str) -> str:
        """The text of a member, whatever its bytes.

        Raises:
            FormatError: it is damaged, or larger than any source.
        """
        return self._artifact.read(path, limit_bytes=MAX_SOURCE_BYTES).decode("utf-8", "replace")

    def _load(self, name: str) -> Module | None:
        if not self.owns(name):
            return None
        for path, is_package in self._candidates(name):
            if path in self._paths:
                return self._parse(name, path, is_package=is_package)
        return None

    def _parse(self, name: str, path: str, *, is_package: bool) -> Module | None:
        try:
            tree = parse_source(self._artifact.read(path, limit_bytes=MAX_SOURCE_BYTES), path)
        except FormatError as error:
            self.unknowns.append(Unknown.from_error(error, "release/source"))
            return None
        module = Module(name=name, path=path, tree=tree, is_package=is_package)
        for statement in tree.body:
            for bound in bound_names(statement):
                module.bindings.setdefault(bound, []).append(statement)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                module.stars.append(module.absolute(statement))
        return module
