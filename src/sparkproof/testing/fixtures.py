"""The fault proxy as a pytest fixture: ``pytest_plugins = ["sparkproof.testing.fixtures"]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from sparkproof.testing.proxy import FaultProxy


@pytest.fixture
def fault_proxy() -> Iterator[Callable[..., FaultProxy]]:
    """``fault_proxy(url, "drop-version", "slow:0.1", seed=3)``: a proxy until the test ends."""
    with ExitStack() as stack:

        def start(upstream: str, *faults: str, **more: Any) -> FaultProxy:
            return stack.enter_context(FaultProxy(upstream, faults, **more))

        yield start
