"""Servers that several live tests share: a boot takes half a minute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_socket
from tests.live.gate_server import TRAINED, Live, serving
from tests.live.server import vllm_environment

SMALL_POOL = ("--num-gpu-blocks-override", "40")
"""5,120 tokens: eight requests of the model's length do not fit, eight short ones do."""


@pytest.fixture(scope="session")
def live_environment() -> Path:
    """Where vLLM is installed."""
    found = vllm_environment()
    if found is None:
        pytest.skip("no environment of the live tier: `make test-live` makes it")
    return found


@pytest.fixture(scope="session")
def small_pool(live_environment: Path) -> Iterator[Live]:
    """The trained checkpoint, no speculation, no parsers, and a pool that is soon full."""
    pytest_socket.enable_socket()
    with serving(live_environment, TRAINED, SMALL_POOL) as server:
        yield server
