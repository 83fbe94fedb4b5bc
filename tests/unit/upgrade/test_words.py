"""Words of a deployment on two small releases: what is gone, what took over, what it becomes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.observations.release_parts import (
    ConfigClass,
    ConfigField,
    ModelEntry,
    ParserEntry,
    Source,
)
from sparkproof.core.observations.release_surface import EnvVariable, Option, ReleaseSurface
from sparkproof.core.results.upgrade import Action, Bite, Change, Edit
from sparkproof.upgrade.arguments import flatten, lookup, read_given
from sparkproof.upgrade.compare import compare, mended
from sparkproof.upgrade.edits import apply_edits
from sparkproof.upgrade.view import Case, Model, View

HERE = Source("vllm/place.py", 1)
GB10 = ComputeCapability.parse("12.1")


def option(flag: str, *choices: str, **more: Any) -> Option:
    fields: dict[str, Any] = {"closed": bool(choices), "names": (flag,), "default": None} | more
    return Option(flag=flag, choices=choices, source=HERE, **fields)


def spec(*methods: str) -> ConfigClass:
    fields = (
        ConfigField("method", "Literal", 2, choices=methods),
        ConfigField("num_speculative_tokens", "int", 3),
    )
    return ConfigClass("SpeculativeConfig", fields, HERE)


OPTIONS = (
    option("--max-model-len", value="length"),
    option("--enforce-eager", arity="none", value="none"),
    option("--moe-backend", "auto", "marlin", "cutlass", normalises=True),
    option("--linear-backend", "auto", "marlin", normalises=True),
    option("--speculative-config", value="object", config="SpeculativeConfig"),
    option("--tool-call-parser"),
    option("--kv-cache-dtype-skip-layers", arity="many"),
    option("--tensor-parallel-size", names=("--tensor-parallel-size", "-tp"), value="int"),
)
PARSERS = (ParserEntry("tool", "coder", "vllm.tools", "CoderParser", HERE),)
NEW = ReleaseSurface(
    version="0.33.0",
    source=HERE,
    options=OPTIONS,
    configs=(spec("mtp", "ngram"),),
    parsers=PARSERS,
    env=(EnvVariable("VLLM_KEPT", None, HERE),),
    env_names=("VLLM_KEPT",),
    models=(ModelEntry("KeptForCausalLM", "text-generation", HERE),),
)
OLD = msgspec.structs.replace(
    NEW,
    version="0.20.2",
    options=(*OPTIONS, option("--gone", arity="none", value="none")),
    configs=(spec("mtp", "ngram", "medusa"),),
    parsers=(*PARSERS, ParserEntry("tool", "dropped", "vllm.tools", "DroppedParser", HERE)),
    env_names=("VLLM_KEPT", "VLLM_NVFP4_GEMM_BACKEND"),
    models=(*NEW.models, ModelEntry("DroppedForCausalLM", "text-generation", HERE)),
)


def case(*args: str, env: dict[str, str] | None = None, model: Model | None = None) -> Case:
    deployment = Deployment(checkpoint="x", args=args, env=env or {}, box=Box())
    return Case(deployment, model or Model(), GB10, View(OLD), View(NEW))


def only(found: tuple[Change, ...]) -> Change:
    assert len(found) == 1, [item.message for item in found]
    return found[0]


def test_nothing_is_said_of_what_both_releases_take() -> None:
    asked = case(
        "--max-model-len", "auto", "-tp", "2", "--moe-backend", "Marlin", "--enforce-eager",
        "--tool-call-parser", "coder", "--kv-cache-dtype-skip-layers", "0", "1",
        "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}',
        env={"VLLM_KEPT": "1", "CUDA_ANY": "2"},
    )  # fmt: skip
    found = compare(asked)
    assert found.changes == found.standing == ()
    assert mended(asked, found) == asked.deployment


@pytest.mark.parametrize(
    ("args", "subject", "kept"),
    [
        (("--gone", "--max-model-len", "4096"), "--gone", ("--max-model-len", "4096")),
        (("--tool-call-parser", "dropped"), "--tool-call-parser", ()),
        (
            ("--speculative-config", '{"method": "medusa", "num_speculative_tokens": 3}'),
            "--speculative-config.method",
            (),
        ),
        (("--speculative-config.method", "medusa"), "--speculative-config.method", ()),
    ],
)
def test_what_is_gone_ends_the_start_and_is_dropped(
    args: tuple[str, ...], subject: str, kept: tuple[str, ...]
) -> None:
    asked = case(*args)
    found = compare(asked)
    change = only(found.changes)
    assert (change.bite, change.subject) == (Bite.WONT_START, subject)
    after = mended(asked, found)
    assert after.args == kept
    again = msgspec.structs.replace(asked, deployment=after)
    assert not compare(again).stops


def test_what_neither_release_takes_is_no_news() -> None:
    found = compare(case("--never-was", "1", "--moe-backend", "warp"))
    assert found.changes == ()
    assert {item.subject for item in found.standing} == {"--never-was", "--moe-backend"}
    assert found.stops


@pytest.mark.parametrize(("value", "told"), [("dropped", True), ("mine", False), ("kept", False)])
def test_an_open_list_refuses_what_it_had_and_not_what_it_never_had(value: str, told: bool) -> None:
    def having(surface: ReleaseSurface, *values: str) -> View:
        listed = option("--open", *values, closed=False)
        return View(msgspec.structs.replace(surface, options=(*surface.options, listed)))

    asked = msgspec.structs.replace(
        case("--open", value), before=having(OLD, "kept", "dropped"), after=having(NEW, "kept")
    )
    found = compare(asked)
    assert (bool(found.changes), bool(found.standing), found.stops) == (told, False, told)


def test_a_variable_that_became_a_flag_is_said_so_once() -> None:
    variable = {"VLLM_NVFP4_GEMM_BACKEND": "marlin"}
    asked = case(env=variable)
    change = only(compare(asked).changes)
    assert change.bite is Bite.BEHAVIOUR
    after = mended(asked, compare(asked))
    assert (after.env, after.args) == ({}, ("--linear-backend", "marlin"))
    typed = case("--linear-backend", "auto", env=variable)
    assert mended(typed, compare(typed)).args == ("--linear-backend", "auto")


def test_an_unknown_variable_ends_the_start_where_the_deployment_asks_for_that() -> None:
    strict = option("--fail-on-environ-validation", arity="none", value="none")
    sides = [msgspec.structs.replace(s, options=(*s.options, strict)) for s in (OLD, NEW)]
    asked = case("--fail-on-environ-validation", env={"VLLM_NVFP4_GEMM_BACKEND": "marlin"})
    asked = msgspec.structs.replace(asked, before=View(sides[0]), after=View(sides[1]))
    assert only(compare(asked).changes).bite is Bite.WONT_START


def test_an_architecture_that_is_gone() -> None:
    model = Model(read=True, architectures=("DroppedForCausalLM",))
    assert only(compare(case(model=model)).changes).subject == "DroppedForCausalLM"
    kept = Model(read=True, architectures=("KeptForCausalLM",))
    assert compare(case(model=kept)).changes == ()


def test_python_and_stated_packages() -> None:
    after = msgspec.structs.replace(NEW, python=">=3.13")
    asked = msgspec.structs.replace(case(), after=View(after))
    assert only(compare(asked).changes).subject == "python"


def test_a_default_reaches_who_leaves_the_flag_out() -> None:
    def with_default(surface: ReleaseSurface, value: int) -> View:
        extra = option("--queue", default=value, group="SchedulerConfig")
        return View(msgspec.structs.replace(surface, options=(*surface.options, extra)))

    sides = {"before": with_default(OLD, 1), "after": with_default(NEW, 2)}
    change = only(compare(msgspec.structs.replace(case(), **sides)).changes)
    assert (change.subject, change.before, change.after) == ("--queue", "1", "2")
    assert change.optional
    assert change.edits == (Edit(Action.ADD, "--queue", "1"),)
    assert compare(msgspec.structs.replace(case("--queue", "1"), **sides)).changes == ()


def test_words_are_taken_apart_as_the_release_counts_them() -> None:
    words = ("--enforce-eager", "-tp", "2", "--kv-cache-dtype-skip-layers", "0", "1", "--x=y")
    found = read_given(words, NEW)
    assert [(item.flag, item.values) for item in found] == [
        ("--enforce-eager", ()),
        ("--tensor-parallel-size", ("2",)),
        ("--kv-cache-dtype-skip-layers", ("0", "1")),
        ("--x", ("y",)),
    ]
    nested = read_given(("--speculative-config", '{"method": "mtp", "a": {"b": 1}}'), NEW)
    assert [item.key for item in flatten(nested[0])] == [(), ("method",), ("a",), ("a", "b")]
    method = lookup(nested, "--speculative-config", "method")
    assert method is not None
    assert method.value == "mtp"


def test_edits_touch_nothing_else() -> None:
    args = ("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}', "-tp", "2")
    deployment = Deployment(checkpoint="x", args=args)
    dropped = Edit(Action.DROP, "--speculative-config", key=("num_speculative_tokens",))
    changed = apply_edits(deployment, (dropped,), NEW).args
    assert json.loads(changed[1]) == {"method": "mtp"}
    assert changed[2:] == ("-tp", "2")
    other = apply_edits(deployment, (Edit(Action.CHANGE, "-tp", "1"),), NEW).args
    assert other == (*args[:3], "1")


WORD = st.text(alphabet='-=.abc{}:"0 ', max_size=8)


@given(st.lists(WORD, max_size=8), st.lists(WORD, max_size=2))
def test_any_words_are_taken_apart_and_edits_settle(words: list[str], names: list[str]) -> None:
    read = read_given(words, NEW, OLD)
    assert [item.start for item in read] == sorted({item.start for item in read})
    edits = [Edit(Action.DROP, name) for name in names]
    once = apply_edits(Deployment(checkpoint="x", args=tuple(words)), edits, NEW)
    assert apply_edits(once, edits, NEW) == once
