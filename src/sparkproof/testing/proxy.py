"""A reverse proxy before a real vLLM server that breaks it in known ways.

``python -m sparkproof.testing.proxy --upstream URL --fault drop-version --fault slow:0.1`` prints
its address as one JSON line and serves until it is interrupted; `FaultProxy` does the same for a
``with`` block. Without a fault every byte passes as it came.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sparkproof.core.errors import FormatError, SparkproofError, UnreachableError, UsageError
from sparkproof.testing.faults import FAULTS, parse_fault
from sparkproof.testing.faults.counts import counts_of
from sparkproof.testing.faults.fault import Act, Exchange, Fault
from sparkproof.testing.loopback import LoopServer
from sparkproof.testing.proxy_line import ClientLine, ClientProtocol
from sparkproof.testing.upstream import Address, Request, Tokenizer

_NOTED = 100_000
_MOST_FAULTS = 64


@dataclass
class FaultProxy(LoopServer):
    """Serves at `url` until the ``with`` block ends.

    Attributes:
        upstream: address of the server.
        faults: as ``NAME[:VALUE][,FIELD=VALUE...]``, or made; they act in this order.
        seed: which completions a share strikes depends on it and on their number alone.
        log: file to which faults write what a server would have written to its log.
        completions: so many have come.
        injected: how many of them each fault has really changed.
        struck: number of a completion, and the fault that changed it; the first 100,000.

    Raises:
        UsageError: no address, or no such fault.
        UnreachableError: no server there, or the port is taken.
    """

    upstream: str
    faults: Sequence[str | Fault] = ()
    seed: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    log: Path | None = None
    completions: int = 0
    injected: Counter[str] = field(default_factory=Counter)
    struck: list[tuple[int, str]] = field(default_factory=list)
    restarted_s: float = 0.0
    counted: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.address = Address.parse(self.upstream)
        if len(self.faults) > _MOST_FAULTS:
            raise UsageError(f"more than {_MOST_FAULTS} faults at once", hint="give fewer --fault")
        self.parsed = [parse_fault(f) if isinstance(f, str) else f for f in self.faults]
        self._lines: set[ClientLine] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flying: list[Exchange] = []
        self._listener: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.host}:{self.port}"

    async def serve(self) -> None:
        """Listen until it is told to stop."""
        (await self.address.connect()).close()
        self._write_log("")
        self._tokenizer = Tokenizer(self.address)
        await self._listen()
        self.started()
        await self.stop.wait()
        for task in self._tasks:
            task.cancel()
        self._refuse(None)
        self._tokenizer.close()
        while self._lines:
            await asyncio.sleep(0.001)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def state(self) -> dict[str, Any]:
        """What it has done so far."""
        return {
            "upstream": self.address.url,
            "completions": self.completions,
            "in_flight": len(self._flying),
            "injected": dict(self.injected),
        }

    def begin(self, request: Request) -> Exchange:
        """A completion comes in."""
        self.completions += 1
        try:
            asked = msgspec.json.decode(request.body)
        except msgspec.DecodeError:
            asked = None
        model = str(asked.get("model", "")) if isinstance(asked, dict) else ""

        async def tokenize(text: str) -> list[int]:
            return await self._tokenizer.tokens(model, text, request.header("authorization"))

        flying = len(self._flying) + 1
        streamed = bool(isinstance(asked, dict) and asked.get("stream"))
        exchange = Exchange(self.completions, streamed, self.seed, flying, tokenize)
        self._flying.append(exchange)
        for other in self._flying:
            other.peak = max(other.peak, flying)
        return exchange

    def end(self, exchange: Exchange) -> None:
        """It is answered, or never will be."""
        self._flying.remove(exchange)
        for name in sorted(exchange.acted):
            self.injected[name] += 1
            if len(self.struck) < _NOTED:
                self.struck.append((exchange.number, name))

    async def carry_out(self, act: Act, line: ClientLine) -> None:
        """The server's end of an act: its log, its death, its return."""
        if act.log:
            self._write_log(act.log)
        if not act.dies:
            return
        if act.back_after_s >= 0:
            await self._remember()
        self._refuse(line if act.status else None)
        if act.back_after_s >= 0:
            back = asyncio.create_task(self._return(act.back_after_s))
            self._tasks.add(back)
            back.add_done_callback(self._tasks.discard)

    def _write_log(self, text: str) -> None:
        if self.log is None:
            return
        try:
            with self.log.open("a") as file:
                file.write(text)
        except OSError as error:
            raise UnreachableError(
                f"can't write {self.log}: {error.strerror or error}", hint="--log FILE"
            ) from error

    async def hang_up(self, writer: asyncio.StreamWriter) -> None:
        """Close a connection after what was written has gone out."""
        writer.close()
        await asyncio.sleep(0)

    async def _remember(self) -> None:
        """The counters as they stand, which a server that starts anew does not know."""
        try:
            line = await self.address.connect()
            await line.ask(Request("GET", "/metrics", (), b""))
            self.counted = counts_of((await line.whole()).decode("utf-8", "replace"))
            line.close()
        except (OSError, EOFError, FormatError, UnreachableError):
            self.counted = {}

    async def _return(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if not self.stop.is_set():
            self.restarted_s = time.time()
            await self._listen()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(
                lambda: ClientProtocol(self._client, self), self.host, self.port, backlog=1024
            )
        except (OSError, OverflowError) as error:
            raise UnreachableError(
                f"can't listen at {self.host}:{self.port}: {error}", hint="`--port 0` takes any"
            ) from error
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _client(self, line: ClientLine) -> None:
        self._lines.add(line)
        try:
            await line.serve()
        finally:
            self._lines.discard(line)

    def _refuse(self, spared: ClientLine | None) -> None:
        """Nobody gets in any more, and everybody who is in is cut off."""
        if self._listener is not None:
            self._listener.close()
        for line in self._lines - {spared}:
            line.cut()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the exit code."""
    asked = _parser().parse_args(arguments)
    if asked.list:
        for name, fault in FAULTS.items():
            sys.stdout.write(f"{name}: {fault.about} ({', '.join(fault.__struct_fields__)})\n")
        return 0
    try:
        if not asked.upstream:
            raise UsageError("no server is named", hint="--upstream http://127.0.0.1:8000")
        given = FaultProxy(
            asked.upstream, asked.fault, asked.seed, asked.host, asked.port, asked.log
        )
        over = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: over.set())
        with given as proxy:
            told = {"url": proxy.url, "port": proxy.port, "faults": asked.fault}
            sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
            sys.stdout.flush()
            over.wait()
        sys.stdout.write(msgspec.json.encode(proxy.state()).decode() + "\n")
    except SparkproofError as error:
        hint = f"hint: {error.hint}\n" if error.hint else ""
        sys.stderr.write(f"error: {error.message}\n{hint}")
        return int(error.exit_code)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sparkproof.testing.proxy", description=__doc__)
    parser.add_argument("--upstream", help="address of the server")
    parser.add_argument("--fault", action="append", default=[], help="NAME[:VALUE][,FIELD=VALUE]")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen")
    parser.add_argument("--port", type=int, default=0, help="0 takes any that is free")
    parser.add_argument("--seed", type=int, default=0, help="which completions a share strikes")
    parser.add_argument("--log", type=Path, help="file for what a server would have logged")
    parser.add_argument("--list", action="store_true", help="list the faults and their fields")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
