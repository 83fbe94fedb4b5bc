"""How fast a log is read, and in how much memory.

    python benchmarks/log_reader.py [--gib 1] LOG [LOG ...]

Four logs are made from the given ones, each of the wanted size: one long-running server
(boot once, then access and throughput lines), one with prefixes of ``docker logs -t`` before
every line of it, one that logs every request, and one that does nothing but boot (a crash
loop).
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from sparkproof.formats.vllm_log.reader import read_log
from sparkproof.usecases.log.command import phrase_index

_CHUNK = 1 << 20
_RUNTIME = b"".join(
    b'(APIServer pid=1308) INFO:     10.0.0.%d:4152 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    % (n % 250)
    for n in range(40)
) + (
    b"(APIServer pid=1308) INFO 11-29 20:43:10 [loggers.py:310] Engine 000: Avg prompt throughput: "
    b"812.4 tokens/s, Avg generation throughput: 64.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs, "
    b"GPU KV cache usage: 12.5%, Prefix cache hit rate: 41.0%\n"
)


def _fill(first: bytes, block: bytes, total: int) -> Iterator[bytes]:
    """`first`, then `block` for ever, in chunks, up to `total` bytes; nothing is held."""
    block *= max(1, _CHUNK // len(block))
    yield first
    done = len(first)
    while done < total:
        yield block
        done += len(block)


def _requests(count: int) -> bytes:
    """Request logging: ids and prompts that never repeat."""
    rng = random.Random(1)
    return b"".join(
        b"(APIServer pid=1308) INFO 11-29 20:43:10 [logger.py:43] Received request chatcmpl-%032x: "
        b"prompt: '%s', params: SamplingParams(n=1, temperature=0.%d, max_tokens=%d)\n"
        % (rng.getrandbits(128), bytes(rng.choices(b"abcdefghij ", k=300)), n % 10, n)
        for n in range(count)
    )


def _stamped(text: bytes) -> bytes:
    return b"".join(
        b"2026-11-29T20:43:10.123456789Z " + line for line in text.splitlines(keepends=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("logs", nargs="+", type=Path)
    options = parser.parse_args()
    boots = b"".join(path.read_bytes() for path in options.logs)
    boot = options.logs[0].read_bytes().partition(b"[shutdown]")[0]
    total = int(options.gib * (1 << 30))
    index = phrase_index()
    cases = {
        "one long run": (boot, _RUNTIME),
        "the same, docker -t": (_stamped(boot), _stamped(_RUNTIME)),
        "request logging": (boot, _requests(2000)),
        "boots only": (boots, boots),
    }
    print(f"{'log':22} {'MB':>8} {'CPU s':>7} {'MB/s':>7} {'boots':>7} {'max RSS MiB':>12}")
    for name, (first, block) in cases.items():
        start = time.process_time()
        reading = read_log(_fill(first, block, total), index, name)
        spent = time.process_time() - start
        size = reading.size_bytes / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name:22} {size:8.0f} {spent:7.1f} {size / spent:7.1f}"
            f" {reading.boots_total:7} {peak:12}"
        )


if __name__ == "__main__":
    main()
