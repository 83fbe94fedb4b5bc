"""Fixtures that many tests share: real wheels out of the cache, and a world without settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
import pytest_socket

from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.errors import UnreachableError
from sparkproof.core.target import Target

RealWheel = Callable[..., Path]

# The same examples in every run, so that a failure belongs to the change that shows it;
# `make explore` draws new ones.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("SPARKPROOF_TEST_EXAMPLES", "same"))

_BUDGET_VARIABLE = "SPARKPROOF_TEST_FETCH_MIB"
_DEFAULT_BUDGET_MIB = 1024
_spent_bytes = 0


@pytest.fixture(scope="session")
def real_wheel() -> RealWheel:
    """``real_wheel("vllm==0.33.0", platform="aarch64", python="3.12")``: a path in the cache.

    What the cache lacks is fetched from pip's own index, up to ``SPARKPROOF_TEST_FETCH_MIB``
    for the session (0: fetch nothing). Skips, and says why, where it can't be had. Tests that
    use it are marked ``artifact``.
    """

    def get(requirement: str, *, platform: str = "aarch64", python: str = "3.12") -> Path:
        target = Target(platform=platform, python=python)
        path = _cached(requirement, target)
        if path is None:
            with _sockets():
                path = _fetched(requirement, target)
        return path

    return get


def _cached(requirement: str, target: Target) -> Path | None:
    try:
        _, artifact = open_artifact(requirement, target, offline=True)
    except UnreachableError:
        return None
    artifact.close()
    return Path(artifact.location.path) if artifact.location else None


def _fetched(requirement: str, target: Target) -> Path:
    global _spent_bytes  # noqa: PLW0603 - one budget for the session
    budget = int(os.environ.get(_BUDGET_VARIABLE, _DEFAULT_BUDGET_MIB)) << 20
    if not budget:
        pytest.skip(f"{requirement} is not in the cache, and {_BUDGET_VARIABLE} is 0")
    try:
        subject, artifact = open_artifact(requirement, target)
        if _spent_bytes + subject.size_bytes > budget:
            pytest.skip(f"{requirement} is beyond the budget of {_BUDGET_VARIABLE}")
        _spent_bytes += subject.size_bytes
        local = artifact.localize()
    except UnreachableError as error:
        pytest.skip(f"{requirement} can't be had: {error.message}")
    assert local.location is not None
    path = Path(local.location.path)
    local.close()
    artifact.close()
    return path


class _sockets:  # noqa: N801 - reads as a statement
    """Sockets on for the duration, whatever the test's own rules are."""

    def __enter__(self) -> None:
        pytest_socket.enable_socket()

    def __exit__(self, *_: object) -> None:
        pytest_socket.disable_socket(allow_unix_socket=True)


@pytest.fixture
def clean_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No setting of this machine reaches pip or HTTP: no index, proxy, netrc, cache or config."""
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_TIMEOUT", "5")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_KEYRING_PROVIDER", "disabled")
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
    monkeypatch.setenv("SPARKPROOF_CACHE", str(tmp_path / "cache"))
    return monkeypatch
