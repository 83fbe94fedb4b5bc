"""Names of the server's metrics, whatever shape they are declared in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from sparkproof.core.errors import FormatError
from sparkproof.core.observations.release_parts import Metric
from sparkproof.core.unknown import Unknown
from sparkproof.formats.python_source import dotted_name, parse_source
from sparkproof.release.symbolic.modules import Module, ModuleTable

TOPIC = "release/metrics"
_PREFIX = "vllm:"
_NAME = re.compile(r"vllm:[a-zA-Z0-9_]+\Z")
_KINDS = ("counter", "gauge", "histogram", "summary", "info")
_NOT_SERVED = ("benchmarks/", "third_party/")


def read_metrics(table: ModuleTable) -> tuple[tuple[Metric, ...], tuple[Unknown, ...]]:
    """Every metric that some file declares: as a keyword, in a tuple of a list, or by name.

    Names in texts and comments, and prefixes that only a test is made against, are no metrics.
    """
    found: dict[str, Metric] = {}
    unknowns: list[Unknown] = []
    folder = table.root.removesuffix("__init__.py")
    for path in table.sources():
        if path.removeprefix(folder).startswith(_NOT_SERVED):
            continue
        try:
            text = table.read_text(path)
            if f'"{_PREFIX}' not in text and f"'{_PREFIX}" not in text:
                continue
            tree = parse_source(text.encode(), path)
        except FormatError as error:
            unknowns.append(Unknown.from_error(error, TOPIC))
            continue
        module = Module(path, path, tree, is_package=False)
        for name, kind, node in _declared(tree):
            known = found.get(name)
            if known is None or not known.kind:
                found[name] = Metric(name, kind, module.source(node))
    return tuple(sorted(found.values(), key=lambda item: item.name)), tuple(unknowns)


def _declared(tree: ast.Module) -> Iterator[tuple[str, str, ast.AST]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Tuple | ast.List) and node.elts:
            if isinstance(node, ast.Tuple):
                yield from _named(node.elts[0], "", tree)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield from _named(node.value, "", tree)
        elif isinstance(node, ast.Dict):
            for value in (*node.keys, *node.values):
                if value is not None:
                    yield from _named(value, "", tree)


def _of_call(node: ast.Call) -> Iterator[tuple[str, str, ast.AST]]:
    called = dotted_name(node.func).split(".")[-1].lower()
    if called in ("startswith", "endswith", "removeprefix", "replace", "get"):
        return
    kind = next((item for item in _KINDS if item in called), "")
    names = [item.value for item in node.keywords if item.arg in ("name", "metric_name")]
    for item in (*names, *node.args[:1]):
        yield from _named(item, kind, node)


def _named(item: ast.expr, kind: str, where: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    if isinstance(item, ast.Constant) and isinstance(item.value, str) and _NAME.match(item.value):
        yield item.value, kind, item if hasattr(item, "lineno") else where
