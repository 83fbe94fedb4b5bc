"""Users and passwords for package indexes, from where pip has them: its settings and netrc.

They are looked up only after a server has refused us, are kept in memory, and go to the very
host and port that they were configured for.
"""

from __future__ import annotations

import ast
import netrc
import os
from collections.abc import Iterator
from urllib.parse import SplitResult, unquote, urlsplit

from sparkproof.adapters.pip import PipRunner, run_pip

_SETTINGS = (".index-url", ".extra-index-url", ".find-links")
_CONFIG_TIMEOUT_S = 60.0


class Credentials:
    """What pip's configuration and netrc know."""

    def __init__(self, run: PipRunner = run_pip, *, netrc_file: str | None = None) -> None:
        self._run = run
        self._netrc_file = netrc_file
        self._indexes: tuple[SplitResult, ...] | None = None

    def for_url(self, url: str) -> tuple[str, str] | None:
        """User and password for the host of `url`, if any are known."""
        asked = urlsplit(url)
        if self._indexes is None:
            self._indexes = tuple(self._configured())
        for index in self._indexes:
            same = (index.scheme, index.hostname, _port(index)) == (
                asked.scheme,
                asked.hostname,
                _port(asked),
            )
            if same and index.username:
                return unquote(index.username), unquote(index.password or "")
        return self._from_netrc(asked.hostname or "")

    def _configured(self) -> Iterator[SplitResult]:
        result = self._run(["config", "list"], _CONFIG_TIMEOUT_S)
        for line in result.stdout.splitlines():
            key, separator, value = line.partition("=")
            if not separator or not key.endswith(_SETTINGS):
                continue
            for address in _literal(value).split():
                try:
                    yield urlsplit(address)
                except ValueError:
                    continue

    def _from_netrc(self, host: str) -> tuple[str, str] | None:
        try:
            file = self._netrc_file or os.environ.get("NETRC") or None
            known = netrc.netrc(file).authenticators(host)
        except (OSError, netrc.NetrcParseError):
            return None
        return (known[0], known[2] or "") if known else None


def _port(address: SplitResult) -> int | None:
    try:
        return address.port or {"http": 80, "https": 443}.get(address.scheme)
    except ValueError:
        return None


def _literal(text: str) -> str:
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, str) else ""
