"""The rule by which a release names the way a model's router picks experts."""

from __future__ import annotations

import ast

from sparkproof.core.observations.release_parts import ConfigRule, RuleCase
from sparkproof.facts.release_layout import load_release_layout
from sparkproof.release.reading import run_function
from sparkproof.release.symbolic.interpreter import Session
from sparkproof.release.symbolic.values import FuncValue, SettingValue, scalar_of

RULE = "moe/routing-method"


def read_routing_rule(session: Session) -> ConfigRule | None:
    """The cases of the release's function; None where it has none.

    Raises:
        FormatError: the function uses something that is not followed.
    """
    module_name, _, name = load_release_layout().routing.partition(":")
    module = session.table.get(module_name)
    for node in module.bindings.get(name, []) if module is not None else ():
        if not isinstance(node, ast.FunctionDef) or module is None:
            continue
        given = {item.arg: SettingValue(item.arg) for item in node.args.args}
        paths = run_function(session, FuncValue(module_name, node), given)
        cases = (
            RuleCase(path.when, str(scalar_of(path.outcome.value)[1]))
            for path in paths
            if path.outcome.value is not None and scalar_of(path.outcome.value)[0]
        )
        return ConfigRule(RULE, tuple(cases), module.source(node, name))
    return None
