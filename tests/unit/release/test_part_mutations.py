"""A changed shape of options, registries, rules or server ends in an answer or an `Unknown`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.release import read_surface
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_server_source import (
    APP,
    ARG_UTILS,
    CLI_ARGS,
    CONFIG,
    LOGGERS,
    REGISTRY,
    TOOL_PARSERS,
)
from sparkproof.testing.vllm_source import source_tree

ENVS = "vllm/envs.py"


def read(path: str, change: Callable[[str], str] | None) -> ReleaseSurface:
    files = source_tree()
    if change is None:
        del files[path]
    else:
        before = files[path].decode()
        after = change(before)
        assert after != before, "the mutation changes nothing"
        files[path] = after.encode()
    return read_surface(MemoryArtifact(files), oracles=("none",), whole=True)


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(
    ("path", "change", "topic", "part"),
    [
        pytest.param(CLI_ARGS, None, "options", "", id="parser file gone"),
        pytest.param(
            CLI_ARGS, replaced("make_arg_parser", "build_parser"), "options", "", id="renamed"
        ),
        pytest.param(
            CLI_ARGS,
            replaced("EngineArgs.add_cli_args", "Elsewhere.add_cli_args"),
            "options",
            "",
            id="options from a class that is not there",
        ),
        pytest.param(
            ARG_UTILS,
            replaced('**kernel_kwargs["linear_backend"]', "**everything()"),
            "options",
            "",
            id="keywords from a call",
        ),
        pytest.param(
            ARG_UTILS,
            replaced('group.add_argument("--quiet"', "group.add_argument(QUIET"),
            "options",
            "",
            id="option named elsewhere",
        ),
        pytest.param(REGISTRY, None, "models", "models", id="registry gone"),
        pytest.param(
            REGISTRY,
            replaced("_VLLM_MODELS = {", "_ALL_MODELS = {"),
            "models",
            "models",
            id="registry renamed",
        ),
        pytest.param(
            REGISTRY,
            replaced("**_EMBEDDING_MODELS,", "**load_models(),"),
            "models",
            "models",
            id="registry loads a table",
        ),
        pytest.param(
            REGISTRY,
            replaced('if arch == "SledForCausalLM"', "if wanted(arch)"),
            "models",
            "models",
            id="rows picked by a call",
        ),
        pytest.param(
            REGISTRY,
            replaced('("sled", "SledForCausalLM")', "Entry('sled')"),
            "models",
            "models",
            id="entry is no pair",
        ),
        pytest.param(
            TOOL_PARSERS,
            replaced("_TOOL_PARSERS_TO_REGISTER", "_TOOL_PARSERS"),
            "parsers",
            "parsers",
            id="parsers renamed",
        ),
        pytest.param(APP, None, "endpoints", "endpoints", id="application gone"),
        pytest.param(
            APP,
            replaced("def build_app", "def make_app"),
            "endpoints",
            "endpoints",
            id="application renamed",
        ),
        pytest.param(
            ARG_UTILS,
            replaced("def get_batch_defaults", "def get_defaults"),
            "batch",
            "batch_tiers",
            id="batch defaults renamed",
        ),
        pytest.param(
            ARG_UTILS,
            replaced("UsageContext.OPENAI_API_SERVER: 300", "UsageContext.OPENAI_API_SERVER: f()"),
            "batch",
            "batch_tiers",
            id="batch default is computed",
        ),
        pytest.param(
            CONFIG,
            replaced("if self.scheduler_config.async_scheduling:", "if decide(self):"),
            "async",
            "",
            id="async decision elsewhere",
        ),
        pytest.param(
            CONFIG,
            replaced("min(self.scheduler_config.max_num_seqs * 2, ceiling)", "largest(self)"),
            "graphs",
            "graphs",
            id="graph sizes computed elsewhere",
        ),
        pytest.param(
            CONFIG, replaced("64 if current", "big() if current"), "graphs", "graphs", id="ceiling"
        ),
        pytest.param(CONFIG, None, "graphs", "graphs", id="configuration gone"),
        pytest.param(CONFIG, replaced("def ", "deff "), "async", "", id="configuration no Python"),
        pytest.param(ENVS, None, "env", "env", id="variables gone"),
        pytest.param(
            ENVS, replaced("environment_variables = {", "variables = {"), "env", "env", id="env"
        ),
        pytest.param(LOGGERS, None, "metrics", "metrics", id="metrics gone"),
    ],
)
def test_an_unknown_shape_is_an_unknown(
    path: str, change: Callable[[str], str] | None, topic: str, part: str
) -> None:
    surface = read(path, change)
    found = [item for item in surface.unknowns if item.topic == f"release/{topic}"]
    assert found, "neither an answer nor an Unknown"
    assert ".py" in found[0].where
    assert found[0].why
    if part:
        assert not getattr(surface, part)


def test_a_new_flag_choice_and_architecture_appear() -> None:
    def change(text: str) -> str:
        return text.replace(
            'group.add_argument("--quiet"',
            'group.add_argument("--loud", "-l", choices=["a", "b"], default="a")\n'
            '        group.add_argument("--quiet"',
        )

    found = read(ARG_UTILS, change).option("-l")
    assert found is not None
    assert (found.flag, found.choices, found.default) == ("--loud", ("a", "b"), "a")
    models = read(REGISTRY, replaced('"OtherSled":', '"NewSled":')).models
    assert "NewSled" in {item.architecture for item in models}


def test_an_inverse_spelling_is_read_from_the_parser() -> None:
    files = source_tree()
    files["vllm/utils/argparse_utils.py"] = (
        b"class Pair:\n    _inverse_prefixes = {'--enable-': '--disable-'}\n"
    )
    surface = read_surface(MemoryArtifact(files), oracles=("none",))
    found = surface.option("--disable-reuse")
    assert found is not None
    assert found.flag == "--enable-reuse"


def test_a_guard_that_moves_changes_the_answer() -> None:
    surface = read(APP, replaced("if envs.VLLM_SERVER_DEV_MODE:", "if True:"))
    assert {item.path: item.dev_mode for item in surface.endpoints}["/reset"] is False
