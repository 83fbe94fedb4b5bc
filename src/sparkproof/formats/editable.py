"""Where an editable installation has its packages: setuptools' finder modules.

Form: setuptools, `setuptools/command/editable_wheel.py` (a ``.pth`` file imports
``__editable___NAME_finder``, whose ``MAPPING`` names a folder for each package); checked
2026-11-30.
"""

from __future__ import annotations

import ast
import posixpath
import re

from sparkproof.core.errors import FormatError
from sparkproof.formats.python_source import parse_source

FINDER = re.compile(r"__editable__[\w.-]*_finder\.py\Z")
_IMPORT = re.compile(r"import\s+(?P<module>__editable__\w+_finder)\b")
_MAPPING = "MAPPING"
_MAX_FOLDERS = 1000


def imported_finders(text: str) -> tuple[str, ...]:
    """File names of the finders that the lines of a ``.pth`` file import."""
    return tuple(f"{match['module']}.py" for match in _IMPORT.finditer(text))


def parse_finder(data: bytes, where: str) -> tuple[str, ...]:
    """Folders that the packages of a finder lie in, each once, in their order.

    A package that is called otherwise than its folder can't be found by looking into one.

    Raises:
        FormatError: no Python, or no table of packages in it.
    """
    for node in parse_source(data, where).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        target = node.target if isinstance(node, ast.AnnAssign) else target
        if isinstance(target, ast.Name) and target.id == _MAPPING:
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            return _folders(node.value, where)
    raise FormatError(f"no {_MAPPING} of packages in it", where=where)


def _folders(value: ast.expr | None, where: str) -> tuple[str, ...]:
    try:
        table = ast.literal_eval(value) if value is not None else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise FormatError(f"{_MAPPING} is no table of constants", where=where) from error
    pairs = table.items() if isinstance(table, dict) else ()
    found = (
        posixpath.dirname(path)
        for name, path in pairs
        if isinstance(name, str)
        and isinstance(path, str)
        and path.startswith("/")
        and posixpath.basename(path) == name
    )
    return tuple(dict.fromkeys(found))[:_MAX_FOLDERS]
