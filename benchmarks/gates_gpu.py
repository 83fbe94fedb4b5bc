"""The gates on real servers on a GPU: soak with and without pressure, and A/B against a control.

Usage: ``python benchmarks/gates_gpu.py [--vllm vllm] [--out FILE] [--jobs NAME ...]`` on a machine
with a GPU and a vLLM that starts. All servers serve our own small checkpoint side by side, each
with a fixed piece of memory for its KV cache, so that none of them measures the others'; so figures
of speed hold only between them. What it found, and on which device, goes to
``benchmarks/results/gates_gpu.json``; jobs that are not run keep their rows.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "tests" / "data" / "tiny-qwen3"
RESULTS = Path(__file__).parent / "results" / "gates_gpu.json"
FIRST_PORT = 8400
READY_S = 300.0
STAGGER_S = 12.0
PROMPTS = 230
"""Sees 1 % corruption with 90 % power where the control agrees with itself."""

COMMON = [
    *("--served-model-name", "tiny", "--host", "127.0.0.1", "--max-model-len", "1024"),
    *("--kv-cache-memory-bytes", str(1 << 30), "--max-num-seqs", "64"),
    *("--reasoning-parser", "qwen3", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
]
_LOOKUP = {"num_speculative_tokens": 3, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
NGRAM = ["--speculative-config", json.dumps({"method": "ngram", **_LOOKUP})]
NGRAM_GPU = ["--speculative-config", json.dumps({"method": "ngram_gpu", **_LOOKUP})]
TIGHT = ["--num-gpu-blocks-override", "160"]
SERVERS: dict[str, list[str]] = {
    "control": [],
    "ngram": NGRAM,
    "ngram_gpu": NGRAM_GPU,
    "fp8-kv": ["--kv-cache-dtype", "fp8"],
    "eager": ["--enforce-eager"],
    "tight": TIGHT,
    "tight-ngram": [*TIGHT, *NGRAM],
    "worse": [],
}
JOBS: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    "aa": ("ab", ("control",), ["--aa"]),
    "ngram": ("ab", ("control", "ngram"), []),
    "ngram_gpu": ("ab", ("control", "ngram_gpu"), []),
    "fp8-kv": ("ab", ("control", "fp8-kv"), []),
    "eager": ("ab", ("control", "eager"), []),
    "worse": ("ab", ("control", "worse"), ["--expect-different", "checkpoint"]),
    "soak": ("soak", ("control",), ["--requests", "400"]),
    "soak-preempt": ("soak", ("tight",), ["--requests", "400", "--preempt"]),
    "soak-preempt-ngram": ("soak", ("tight-ngram",), ["--requests", "400", "--preempt"]),
}
"""Job: (command, servers that it takes, further options). ``worse`` is a checkpoint of
``tests/live/make_model.py``, trained for less long, and is asked only where one is given."""


class Server:
    """One vLLM, stopped at the end of the block."""

    def __init__(self, vllm: str, model: Path, name: str, port: int, logs: Path) -> None:
        self.port, self.log = port, logs / f"{name}.log"
        command = [vllm, "serve", str(model), "--port", str(port), *COMMON, *SERVERS[name]]
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def wait(self, until: float) -> bool:
        """Whether it became ready."""
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                    return bool(answer.status == 200)
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.5)
        return False


def run(job: str, servers: dict[str, Server], work: Path) -> dict[str, Any]:
    """One row of the results."""
    command, names, options = JOBS[job]
    missing = [name for name in names if name not in servers]
    if missing:
        return {"job": job, "skipped": f"{missing[0]} did not start"}
    tasks = ["--tasks", str(work / "tasks.jsonl"), "--prompts", str(PROMPTS)]
    log = ["--log", str(servers[names[0]].log)]
    line = [*(sys.executable, "-m", "sparkproof", command), *(servers[n].url for n in names)]
    line += [*options, *(tasks if command == "ab" else log), "--json", "--store", str(work)]
    line += ["--records", str(work / "records"), "--html", str(work / f"{job}.html")]
    started = time.monotonic()
    done = subprocess.run(line, capture_output=True, check=False)
    (work / f"{job}.json").write_bytes(done.stdout)
    (work / f"{job}.err").write_bytes(done.stderr)
    report = json.loads(done.stdout or b"{}")
    return {
        "job": job,
        "exit": done.returncode,
        "seconds": round(time.monotonic() - started, 1),
        "verdict": report.get("verdict", ""),
        "summary": report.get("summary", done.stderr.decode(errors="replace")[-300:]),
        "criteria": [f"{c['name']}: {c['verdict']}: {c['reason']}" for c in report["criteria"]]
        if "criteria" in report
        else [],
        "findings": [f"{f['rule']}: {f['message']}" for f in report.get("findings", ())],
    }


def device_name() -> str:
    """As the driver calls it."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()


def vllm_version(url: str) -> str:
    """Of a running server."""
    with urllib.request.urlopen(f"{url}/version", timeout=30) as answer:
        return str(json.load(answer)["version"])


def merged(path: Path, found: dict[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These rows, and those of other jobs that the same device and release left."""
    old = json.loads(path.read_text()) if path.exists() else {"rows": []}
    same = all(old.get(key) == value for key, value in found.items())
    known = {row["job"]: row for row in old["rows"]} if same else {}
    known |= {row["job"]: row for row in rows if "skipped" not in row}
    return [known[job] for job in JOBS if job in known]


def main() -> None:
    """Boot, ask, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vllm", default="vllm")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--work", type=Path, default=Path(tempfile.mkdtemp()))
    parser.add_argument("--jobs", nargs="*", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--worse", type=Path, help="a checkpoint trained for less long")
    parser.add_argument("--budget-s", type=float, default=3600.0, help="no job starts after it")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    tasks = [sys.executable, str(ROOT / "tests" / "live" / "tiny_tasks.py"), str(PROMPTS)]
    (options.work / "tasks.jsonl").write_bytes(subprocess.check_output(tasks))
    jobs = [job for job in options.jobs if job != "worse" or options.worse]
    needed = dict.fromkeys(name for job in jobs for name in JOBS[job][1])
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        servers = {}
        for number, name in enumerate(needed):
            time.sleep(STAGGER_S if number else 0)
            model = options.worse if name == "worse" else MODEL
            server = Server(options.vllm, model, name, FIRST_PORT + number, options.work)
            servers[name] = stack.enter_context(server)
        until = time.monotonic() + READY_S
        up = {name: server for name, server in servers.items() if server.wait(until)}
        sys.stdout.write(f"{', '.join(up)} up after {time.monotonic() - begun:.0f} s\n")
        version = vllm_version(next(iter(up.values())).url) if up else ""
        for job in jobs:
            if time.monotonic() - begun > options.budget_s:
                rows.append({"job": job, "skipped": "no time was left"})
                continue
            rows.append(run(job, up, options.work))
            sys.stdout.write(f"{json.dumps(rows[-1])}\n")
            sys.stdout.flush()
    found = {"device": device_name(), "vllm": version, "model": MODEL.name}
    whole = {**found, "rows": merged(options.out, found, rows)}
    options.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
