"""The client's own error: reported against true moments, at 1 to 256 streams, and its cost.

The server notes when each token went out. A client's TTFT error is the TTFT it reports less the
server's (first token out less request in); its decode error is the reported speed against the
server's. Processor seconds are those of the whole client process, start-up taken off by a second
run with half the tokens.

    python benchmarks/client_error.py [--peers FOLDER] [--streams 1,8,32,64,256] [--out FILE]

FOLDER holds one virtual environment a peer: llama-benchy, vllm, aiperf. They run with the little
tokenizer of tests/data/tiny-qwen3, prompts of 32 tokens, two requests a stream. (guidellm's worker
processes did not start on the machine of the committed table.)
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
TOKENIZER = HERE.parent / "tests/data/tiny-qwen3"
TTFT_S, INTERVAL_S = 0.2, 0.02
LENGTHS = (64, 384)


class Truth(NamedTuple):
    """What the server knows: medians over its answers."""

    ttft_ms: float
    tokens_per_s: float
    answers: int


class Told(NamedTuple):
    """What a client reports."""

    ttft_ms: float | None
    tokens_per_s: float | None
    mean: bool = False


class Served:
    """The scripted server while a client runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        settings = {"ttft_s": TTFT_S, "interval_s": INTERVAL_S, "model": "tiny"}
        (folder / "settings.json").write_text(json.dumps(settings))

    def __enter__(self) -> Served:
        self._process = subprocess.Popen(
            [
                sys.executable,
                str(HERE / "scripted_server.py"),
                str(self._folder / "settings.json"),
                str(self._folder / "moments.jsonl"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)

    def truth(self, tokens: int) -> Truth:
        """Medians over the answers of that length (warm-ups are shorter)."""
        rows = [
            json.loads(row) for row in (self._folder / "moments.jsonl").read_text().splitlines()
        ]
        whole = [row for row in rows if len(row["tokens"]) == tokens]
        ttft = [(row["tokens"][0] - row["arrived"]) / 1e6 for row in whole]
        speed = [(tokens - 1) / ((row["tokens"][-1] - row["tokens"][0]) / 1e9) for row in whole]
        return Truth(statistics.median(ttft), statistics.median(speed), len(whole))


def run(command: list[str], timeout_s: float = 300) -> tuple[float, str]:
    """Processor seconds of a command and its children, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr[-500:] or done.stdout[-500:])
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, done.stdout


def sparkproof(url: str, streams: int, tokens: int, _: Path, __: Path) -> tuple[float, Told]:
    used, out = run(
        [
            str(Path(sys.executable).with_name("sparkproof")),
            *("bench", url, "--mode", "raw", "--depth", "32", "--output", str(tokens)),
            *("--concurrency", str(streams), "--requests", str(2 * streams), "--repeats", "1"),
            *("--no-receipt", "--json"),
        ]
    )
    cell = json.loads(out)["result"]["cells"][0]
    return used, Told(cell["ttft_s"]["median"] * 1000, cell["decode_tokens_per_s"]["median"])


def vllm(url: str, streams: int, tokens: int, folder: Path, peers: Path) -> tuple[float, Told]:
    used, _ = run(
        [
            str(peers / "vllm/bin/vllm"),
            *("bench", "serve", "--base-url", url, "--model", "tiny"),
            *("--tokenizer", str(TOKENIZER)),
            *("--dataset-name", "random", "--input-len", "32", "--output-len", str(tokens)),
            *("--num-prompts", str(2 * streams), "--max-concurrency", str(streams)),
            *("--ignore-eos", "--save-result", "--result-dir", str(folder)),
            *("--result-filename", "vllm.json", "--disable-tqdm"),
        ]
    )
    found = json.loads((folder / "vllm.json").read_text())
    return used, Told(found["median_ttft_ms"], 1000 / found["median_tpot_ms"])


def llama_benchy(
    url: str, streams: int, tokens: int, folder: Path, peers: Path
) -> tuple[float, Told]:
    used, _ = run(
        [
            str(peers / "llama-benchy/bin/llama-benchy"),
            *("--base-url", f"{url}/v1", "--model", "tiny", "--tokenizer", str(TOKENIZER)),
            *("--pp", "32", "--tg", str(tokens), "--exact-tg", "--runs", "2"),
            *("--concurrency", str(streams), "--latency-mode", "none", "--skip-coherence"),
            *("--no-adapt-prompt", "--no-warmup", "--book-url", f"{url}/book.txt"),
            *("--save-result", str(folder / "benchy.json"), "--format", "json"),
        ]
    )
    (found,) = json.loads((folder / "benchy.json").read_text())["benchmarks"]
    first = statistics.median(found["e2e_ttft"]["values"])
    return used, Told(first, statistics.median(found["tg_req_throughput"]["values"]))


def aiperf(url: str, streams: int, tokens: int, folder: Path, peers: Path) -> tuple[float, Told]:
    used, _ = run(
        [
            *(str(peers / "aiperf/bin/aiperf"), "profile", "--model", "tiny", "--url", url),
            *("--endpoint-type", "completions", "--streaming", "--tokenizer", str(TOKENIZER)),
            *("--concurrency", str(streams), "--request-count", str(2 * streams), "--isl", "32"),
            *("--extra-inputs", "ignore_eos:true", "--extra-inputs", f"max_tokens:{tokens}"),
            *("--osl", str(tokens), "--output-artifact-dir", str(folder / "aiperf")),
            *("--ui", "none"),
        ]
    )
    found = json.loads((folder / "aiperf/profile_export_aiperf.json").read_text())
    # Its tokens are those of its own tokenizer, not the server's, so its speed is another thing.
    return used, Told(found["time_to_first_token"]["p50"], None)


Client = Callable[[str, int, int, Path, Path], tuple[float, Told]]
CLIENTS: dict[str, Client] = {
    "sparkproof": sparkproof,
    "llama-benchy": llama_benchy,
    "vllm bench serve": vllm,
    "aiperf": aiperf,
}


def measure(name: str, client: Client, streams: int, peers: Path) -> dict[str, Any]:
    """One row: errors at the full length, cost from the difference of two lengths."""
    costs = []
    row: dict[str, Any] = {"client": name, "streams": streams}
    for tokens in LENGTHS:
        with tempfile.TemporaryDirectory() as name_of:
            folder = Path(name_of)
            with Served(folder) as server:
                used, told = client(server.url, streams, tokens, folder, peers)
            truth = server.truth(tokens)
        costs.append((used, truth.answers * tokens))
    (short, few), (long, many) = costs
    if told.ttft_ms is not None:
        row["ttft_error_ms"] = round(told.ttft_ms - truth.ttft_ms, 2)
    if told.tokens_per_s is not None:
        error = told.tokens_per_s / truth.tokens_per_s - 1
        row["decode_error_percent"] = round(100 * error, 3)
    row["cpu_s_per_1000_tokens"] = round((long - short) / (many - few) * 1000, 4)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path("peers"))
    parser.add_argument("--streams", default="1,8,32,64,256")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--clients", default=",".join(CLIENTS), help="NAME or NAME@STREAMS")
    asked = parser.parse_args()
    rows = []
    for streams in map(int, asked.streams.split(",")):
        for entry in asked.clients.split(","):
            name, _, only = entry.partition("@")
            if only and streams != int(only):
                continue
            try:
                rows.append(measure(name, CLIENTS[name], streams, asked.peers))
            except (OSError, RuntimeError, subprocess.TimeoutExpired, KeyError) as error:
                rows.append({"client": name, "streams": streams, "failed": str(error)[-200:]})
            print(json.dumps(rows[-1]), flush=True)
    if asked.out:
        about = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": f"{os.cpu_count()} cores, shared; load {os.getloadavg()[0]:.1f}",
            "server": f"TTFT {TTFT_S} s, a token every {INTERVAL_S} s and stream",
        }
        asked.out.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
