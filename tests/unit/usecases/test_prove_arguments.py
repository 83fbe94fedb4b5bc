"""Arguments that a release's own parser refuses, on a shipped surface."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.unknown import Unknown
from sparkproof.facts.surfaces import load_surface
from sparkproof.usecases.prove_arguments import find_refused_arguments

RULES = {"unknown": "release/unknown-option", "missing": "release/missing-value"}


@pytest.fixture(scope="module")
def surface() -> ReleaseSurface:
    return load_surface("0.33.0")


@pytest.mark.parametrize(
    ("args", "rules"),
    [
        ("--max-model-len 65536 -tp 2 --kv-cache-dtype fp8", []),
        ("--attention-backend flashinfer", []),
        ("--max-modl-len 65536", [RULES["unknown"]]),
        ("--max-model-len", [RULES["missing"]]),
        ("--max-model-len many", ["release/bad-value"]),
        ("--kv-cache-dtype fp4", ["release/bad-value"]),
        (
            '--speculative-config {"method":"mtp","num_speculative_token":3}',
            ["release/unknown-field"],
        ),
        ('--speculative-config {"method":"mtp","num-speculative-tokens":3}', []),
        ('--compilation-config {"cudagraph_mode":"full"}', []),
        ('--compilation-config {"cudagraph_mode":"fulll"}', ["release/unknown-field"]),
        ('--kernel-config {"moe_backend":"Marlin"}', []),
        ('--hf-overrides {"whatever":1}', []),
    ],
)
def test_what_the_parser_would_refuse(surface: ReleaseSurface, args: str, rules: list[str]) -> None:
    found = find_refused_arguments(surface, args.split())
    assert [item.rule for item in found] == rules
    assert all(item.severity is Severity.ERROR for item in found)


def test_the_spelling_that_was_meant_is_offered_and_a_secret_is_not_shown(
    surface: ReleaseSurface,
) -> None:
    (found,) = find_refused_arguments(surface, ("--api-kee", "hunter2"))
    assert found.remedy == "perhaps `--api-key`"
    assert "hunter2" not in str(found)


def test_what_the_selection_told_is_not_told_again(surface: ReleaseSurface) -> None:
    told = Finding("select/x", Severity.ERROR, Confidence.SHOWN, "no --max-modl-len here")
    assert find_refused_arguments(surface, ("--max-modl-len", "1"), (told,)) == ()


def test_options_that_could_not_be_read_refuse_nothing(surface: ReleaseSurface) -> None:
    unread = Unknown(topic="release/options", where="arg_utils.py", why="not read")
    partly = msgspec.structs.replace(surface, unknowns=(unread,))
    assert find_refused_arguments(partly, ("--max-modl-len", "1")) == ()
