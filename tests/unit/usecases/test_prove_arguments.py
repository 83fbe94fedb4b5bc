"""Arguments that a release's own parser refuses, on a shipped surface."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.unknown import Unknown
from sparkproof.facts.surfaces import load_surface
from sparkproof.upgrade.view import FLAG_REFUSED
from sparkproof.usecases.line_findings import surroundings
from sparkproof.usecases.prove.arguments import (
    find_overruled_arguments,
    find_refused_arguments,
    is_told,
)

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
        ("vllm serve elsewhere --port 8000", ["release/unexpected-word"] * 3),
        ("--max-num-seqs 32 --max-num-batched-tokens 16", ["release/flags-clash"]),
        ("--enable-auto-tool-choice --tool-call-parser opneai", ["release/unknown-parser"]),
        ("--gpu-memory-utilization 90", ["release/out-of-range"]),
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


@pytest.mark.parametrize(
    ("args", "rules"),
    [
        ("--max-model-len 8192", ["release/beyond-model"]),
        ("--max-model-len 4096", []),
        ('--max-model-len 8192 --hf-overrides {"max_position_embeddings":8192}', []),
        ("-tp 2", ["release/too-few-gpus"]),
        ("-tp 3 --nnodes 3", ["release/beyond-model"]),
        ("-tp 2 --distributed-executor-backend ray", []),
    ],
)
def test_the_model_and_the_box_are_asked(
    surface: ReleaseSurface, args: str, rules: list[str]
) -> None:
    config = b'{"max_position_embeddings": 4096, "num_attention_heads": 32}'
    beside = surroundings(config, "gb10", {})
    found = find_refused_arguments(surface, args.split(), beside=beside)
    assert [item.rule for item in found] == rules


@pytest.mark.parametrize(
    ("args", "severities"),
    [
        ("--kv-cache-dtype fp8 --kv-cache-dtype bfloat16", [Severity.WARNING]),
        ("--enable-prefix-caching --no-enable-prefix-caching", [Severity.WARNING]),
        ("--max-num-seqs 8 --max-num-seqs 8", [Severity.INFO]),
        ('--enforce-eager --compilation-config {"cudagraph_mode":"FULL"}', [Severity.WARNING]),
        ("--enforce-eager --max-num-seqs 8", []),
    ],
)
def test_which_flag_wins_is_said(
    surface: ReleaseSurface, args: str, severities: list[Severity]
) -> None:
    found = find_overruled_arguments(surface, args.split())
    assert [item.severity for item in found] == severities
    assert find_refused_arguments(surface, args.split()) == ()


def test_a_secret_that_is_given_twice_is_not_shown(surface: ReleaseSurface) -> None:
    (found,) = find_overruled_arguments(surface, ("--api-key", "hunter2", "--api-key", "hunter3"))
    assert "hunter" not in str(found)


def test_the_memory_plan_does_not_say_the_same_again(surface: ReleaseSurface) -> None:
    refused = find_refused_arguments(surface, ("--gpu-memory-utilization", "90"))
    planned = Finding(
        FLAG_REFUSED, Severity.ERROR, Confidence.SHOWN, "`--gpu-memory-utilization 90` is too much"
    )
    assert is_told(planned, refused)
    assert not is_told(planned, ())
