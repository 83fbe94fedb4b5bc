"""What changes between two small releases, and how it bites."""

from __future__ import annotations

from collections.abc import Callable

from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.release import Bite, Change
from sparkproof.release import read_surface
from sparkproof.release.diff import compare_surfaces
from sparkproof.testing.artifacts import MemoryArtifact
from sparkproof.testing.vllm_server_source import APP, ARG_UTILS, CONFIG, LOGGERS, REGISTRY
from sparkproof.testing.vllm_source import source_tree

METADATA = "vllm-9.9.9.dist-info/METADATA"


def surface(**changes: Callable[[str], str]) -> ReleaseSurface:
    files = source_tree()
    for path, change in changes.items():
        files[path] = change(files[path].decode()).encode()
    return read_surface(MemoryArtifact(files), oracles=("none",), whole=True)


BEFORE = surface()


def changes(path: str, old: str, new: str) -> list[Change]:
    after = surface(**{path: lambda text: text.replace(old, new)})
    return [item for item in compare_surfaces(BEFORE, after) if item.bite is not Bite.WORDING]


def told(found: list[Change]) -> list[tuple[Bite, str, str, str]]:
    return [(item.bite, item.subject, item.before, item.after) for item in found]


def test_the_same_release_changes_nothing() -> None:
    assert compare_surfaces(BEFORE, BEFORE) == ()


def test_a_flag_that_is_renamed_is_gone_and_new() -> None:
    found = told(changes(ARG_UTILS, '"--quiet"', '"--silent"'))
    assert (Bite.GONE, "--quiet", "there", "") in found
    assert (Bite.NEW, "--silent", "", "new") in found


def test_values_defaults_and_endings() -> None:
    found = told(changes("vllm/config/cache.py", '["a", "b", "c"] = "a"', '["a", "d", "c"] = "d"'))
    assert (Bite.GONE, "--spare: values", "b", "") in found
    assert (Bite.NEW, "--spare: values", "", "d") in found
    assert (Bite.DEFAULT, "--spare: default", "'a'", "'d'") in found
    ending = told(changes(ARG_UTILS, 'help="Say less."', 'help="Deprecated: say nothing."'))
    assert ending == [(Bite.RULE, "--quiet: ending", "", "Deprecated: say nothing")]


def test_rules_registries_server_and_pins() -> None:
    found = told(changes(CONFIG, '"SledForCausalLM"', '"LadderForCausalLM"'))
    assert (
        Bite.GONE,
        "model-runner-v2/default: NEW_RUNNER_ARCHITECTURES: values",
        "SledForCausalLM",
        "",
    ) in found
    assert told(changes(CONFIG, "else 32", "else 16")) == [
        (
            Bite.RULE,
            "CUDA graphs: ceiling",
            "64 if capability 10.x, 32 if not (capability 10.x)",
            "64 if capability 10.x, 16 if not (capability 10.x)",
        )
    ]
    models = told(changes(REGISTRY, '"LadderForCausalLM": (', '"RungForCausalLM": ('))
    assert (Bite.GONE, "LadderForCausalLM", "there", "") in models
    server = told(changes(APP, "if envs.VLLM_SERVER_DEV_MODE:", "if True:"))
    assert server == [(Bite.RULE, "post /reset", "development mode only", "always")]
    pins = told(changes(METADATA, "torch==9.0", "torch==9.1"))
    assert pins == [(Bite.PIN, "torch", "==9.0", "==9.1")]


def test_rewording_is_told_apart_from_loss() -> None:
    after = surface(**{LOGGERS: lambda text: text.replace("is %s", "is quite %s")})
    (change,) = compare_surfaces(BEFORE, after)
    assert change.bite is Bite.WORDING
    assert (change.before, change.after) == ("The rope is %s", "The rope is quite %s")
