"""The version that a package's own ``_version.py`` states, as setuptools-scm writes it.

vLLM takes ``__version__`` from there, and a server's ``/version`` tells it; METADATA can be that of
another installation. Source: vllm/version.py and vllm/_version.py of the 0.33.0 wheel; checked
2026-11-30.
"""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"^(?:__version__\s*=\s*)?(?:version|__version__)\s*=\s*['\"](?P<value>[^'\"]{1,100})",
    re.MULTILINE,
)
_COMMIT = re.compile(r"commit_id\s*=\s*['\"](?P<value>[^'\"]{1,64})['\"]", re.MULTILINE)


def stamped_version(text: str) -> str:
    """The version ("" for none)."""
    match = _VERSION.search(text)
    return match["value"] if match else ""


def stamped_commit(text: str) -> str:
    """The commit ("" for none)."""
    match = _COMMIT.search(text)
    return match["value"] if match else ""
