"""What a deployment promises, by its release's own parser where there is one."""

from __future__ import annotations

import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.core.results.smoke import Expected
from sparkproof.usecases.expectations import expected_of

SHIPPED, OTHER = "vllm==0.33.0", "vllm==0.33.1.dev4"


def promised(artifact: str, *args: str) -> Expected:
    return expected_of(Deployment(checkpoint="checkpoint", artifact=artifact, args=args))


@pytest.mark.parametrize("artifact", [SHIPPED, OTHER, ""])
def test_whole_spellings_are_read_alike_with_and_without_a_parser(artifact: str) -> None:
    found = promised(
        artifact,
        *("--served-model-name", "a", "b", "--tool-call-parser=qwen3_coder"),
        *("--reasoning-parser", "qwen3", "--kv-cache-dtype", "fp8", "--spec-method", "mtp"),
        *("--spec-tokens", "2", "--no-enable-prefix-caching"),
    )
    assert found.names == ("a", "b")
    assert (found.tool_parser, found.reasoning_parser) == ("qwen3_coder", "qwen3")
    assert (found.drafts, found.kv_dtype, found.prefix_caching) == (True, "fp8", False)


def test_what_only_the_release_can_read_is_promised_too() -> None:
    found = promised(SHIPPED, "--served-model", "a", "--tool-call=qwen3_coder", "--enable-prefix")
    assert (found.names, found.tool_parser) == (("a",), "qwen3_coder")
    assert found.prefix_caching is True


def test_nothing_stated_promises_nothing() -> None:
    found = promised(SHIPPED)
    assert (found.names, found.tool_parser, found.drafts) == ((), "", False)
    assert found.version == "0.33.0"
