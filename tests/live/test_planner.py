"""vLLM's own planner on random architectures: every group, block and token as we count them."""

from __future__ import annotations

import pytest
from benchmarks.kv_oracle import compare
from tests.live.server import vllm_environment

VERSION = "0.32.0"


@pytest.mark.live
def test_the_installed_planner_agrees_on_random_architectures() -> None:
    environment = vllm_environment()
    if environment is None:
        pytest.skip("no environment of the live tier: `make test-live` makes it")
    right, wrong = compare(VERSION, None, environment / "bin" / "python", 300)
    assert (right, wrong) == (300, 0)
