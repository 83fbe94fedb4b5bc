"""What single keywords of ``add_argument`` mean for an option."""

from __future__ import annotations

import ast

from sparkproof.formats.python_source import brief, dotted_name
from sparkproof.release.drafts import Draft
from sparkproof.release.names import constant
from sparkproof.release.symbolic.modules import Module, ModuleTable

_PARSER = "vllm.utils.argparse_utils"


def set_default(table: ModuleTable, module: Module, draft: Draft, value: ast.expr | None) -> None:
    """Apply ``default=…``; None takes it away."""
    known, scalar = constant(table, module, value) if value is not None else (False, None)
    draft.default = scalar
    draft.computed = "" if known or value is None else brief(value)
    if draft.computed == "argparse.SUPPRESS":
        draft.computed = ""


def set_arity(draft: Draft, value: ast.expr | None) -> None:
    """Apply ``nargs=…``; None takes it away."""
    text = value.value if isinstance(value, ast.Constant) else None
    if value is None:
        draft.arity = "one"
    elif text == "?":
        draft.arity = "optional"
    else:
        draft.arity = "many"


def set_action(draft: Draft, value: ast.expr) -> None:
    """Apply ``action=…``."""
    name = dotted_name(value) or str(getattr(value, "value", ""))
    if name.endswith("BooleanOptionalAction"):
        draft.value, draft.arity, draft.switch = "none", "none", "boolean"
    elif name in ("store_true", "store_false"):
        draft.value, draft.arity, draft.switch = "none", "none", name.removeprefix("store_")
        if draft.default is None:
            draft.default = name == "store_false"


def read_text(table: ModuleTable, module: Module, node: ast.expr) -> str:
    """The text of an expression, as far as it is literal."""
    known, value = constant(table, module, node)
    if known:
        return str(value)
    return "".join(
        inner.value
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    )


def inverse_prefixes(table: ModuleTable) -> dict[str, str]:
    """Prefixes that a switch can be negated by beside ``--no-``, where the release has any."""
    if "_inverse_prefixes" not in table.text(_PARSER):
        return {}
    module = table.get(_PARSER)
    for node in ast.walk(module.tree) if module is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == "_inverse_prefixes":
                pairs = zip(node.value.keys, node.value.values, strict=True)
                return {
                    str(key.value): str(value.value)
                    for key, value in pairs
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
                }
    return {}
