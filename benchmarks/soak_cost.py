"""What a soak costs: its processor time beside the server's, and its memory over a long run.

    python -m benchmarks.soak_cost [--out FILE] [--requests 400] [--long 20000]

in the repository, after ``make test-live`` made its environment. Processor seconds are those of the
whole installed command (start-up included) and of all of the server's processes (vLLM for CPUs, the
checkpoint of tests/data/tiny-qwen3) over the same stretch. Memory is resident memory of one soak
against a stand-in in another process, after 2,000 requests and at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.live.conftest import SMALL_POOL
from tests.live.gate_server import TRAINED, serving
from tests.live.server import vllm_environment

from sparkproof.adapters.server_process import family_of

SPARKPROOF = Path(sys.executable).with_name("sparkproof")
EARLY = 2000
_TICKS = os.sysconf("SC_CLK_TCK")
_MIB = 1 << 20


def server_cpu_s(pid: int) -> float:
    """Processor seconds of a process and its children so far."""
    total = 0
    for one in family_of(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def soak(url: str, folder: Path, *options: str) -> tuple[dict[str, Any], float]:
    """One soak as installed: its report, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(SPARKPROOF), "soak", url, *options, "--json", "--records", str(folder)],
        env={**os.environ, "SPARKPROOF_DATA": str(folder)},
        capture_output=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report: dict[str, Any] = json.loads(done.stdout)
    return report, used


def cost(requests: int) -> list[dict[str, Any]]:
    """A row for each kind of soak of a real server."""
    environment = vllm_environment()
    if environment is None:
        sys.exit("no environment of the live tier: `make test-live` makes it")
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(environment, TRAINED, SMALL_POOL) as server,
    ):
        for name, options in (("usual", ()), ("--preempt", ("--preempt",))):
            before = server_cpu_s(server.pid)
            many = ("--requests", str(requests), *options)
            report, used = soak(server.url, Path(folder), *many)
            spent = server_cpu_s(server.pid) - before
            result = report["result"]
            rows.append(
                {
                    "soak": name,
                    "verdict": report["verdict"],
                    "requests": result["requests"],
                    "concurrency": result["plan"]["concurrency"],
                    "generated_tokens": result["pressure"]["generated_tokens"],
                    "preemptions": result["pressure"]["preemptions"],
                    "seconds": round(result["seconds"], 1),
                    "client_cpu_s": round(used, 2),
                    "server_cpu_s": round(spent, 2),
                    "client_by_server_percent": round(100 * used / spent, 2),
                }
            )
    return rows


@contextlib.contextmanager
def stand_in(folder: Path) -> Iterator[str]:
    """The address of a stand-in in a process of its own."""
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"ttft_s": 0.001, "interval_s": 0.0001}))
    command = [sys.executable, "-m", "sparkproof.testing.openai_server"]
    with subprocess.Popen(
        [*command, str(settings), str(folder / "moments")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def memory(requests: int) -> dict[str, Any]:
    """Resident memory early and late in one long soak."""
    with tempfile.TemporaryDirectory() as name, stand_in(Path(name)) as url:
        folder = Path(name) / "records"
        options = ("--requests", str(requests), "--longest", "192", "--json")
        command = [str(SPARKPROOF), "soak", url, *options, "--records", str(folder)]
        with subprocess.Popen(
            command,
            env={**os.environ, "SPARKPROOF_DATA": name},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            early, late = _watch(process, folder, requests)
    return {
        "requests": requests,
        f"rss_mib_after_{EARLY}": round(early / _MIB, 1),
        f"rss_mib_after_{requests}": round(late / _MIB, 1),
        "growth_mib": round((late - early) / _MIB, 1),
    }


def _watch(process: subprocess.Popen[bytes], folder: Path, requests: int) -> tuple[int, int]:
    """Memory at the early request, and the last seen before the end."""
    count = place = early = late = 0
    while process.poll() is None:
        time.sleep(0.02)
        for path in folder.glob("soak-*.jsonl"):
            with path.open("rb") as file:
                file.seek(place)
                data = file.read()
            place += len(data)
            count += data.count(b'"type":"request"')
        with contextlib.suppress(OSError, IndexError):
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            late = pages * os.sysconf("SC_PAGE_SIZE") or late
        if count >= EARLY and not early:
            early = late
    assert count == requests, f"{count} records"
    return early, late


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--long", type=int, default=20_000)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    table = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, shared; load {load:.1f}",
        "server": "vLLM for CPUs, tests/data/tiny-qwen3, --num-gpu-blocks-override 40",
        "cost": cost(given.requests),
        "memory": memory(given.long),
    }
    text = json.dumps(table, indent=1)
    print(text)
    if given.out:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
