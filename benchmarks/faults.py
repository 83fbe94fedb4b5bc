"""Every fault of the proxy against the gate meant for it, and the gates on a clean server.

``python -m benchmarks.faults run`` boots two real servers for CPUs (or takes ``--control URL
--treatment URL``, or two stand-ins with ``--stand-in``) and writes benchmarks/results/faults.json;
``python -m benchmarks.faults page`` draws its table into docs/testing.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.fault_cases import CASES, DETECT, FIGURE, GATES, PROMPTS, ab_options, arguments
from benchmarks.fault_page import draw
from tests.live.gate_server import PARSERS, TRAINED, serving
from tests.live.server import vllm_environment
from tests.live.tiny_tasks import tiny_tasks

from sparkproof.gates.ab_tasks import Form, bundled_tasks
from sparkproof.testing.openai_server import OpenAIServer
from sparkproof.testing.proxy import FaultProxy
from sparkproof.testing.stand_in_answer import Behaviour
from sparkproof.testing.task_server import TaskStandIn

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "faults.json"
PAGE = ROOT / "docs" / "testing.md"
SMALL_POOL = ("--block-size", "32", "--num-gpu-blocks-override", "64")
INSTRUMENT = {"bench/client-saturated"}  # the machine's, which is shared
AA_RUNS, POWER_RUNS, AGAIN_RUNS = 55, 30, 15
# What this checkpoint and this load always say, or say by chance: none of it accuses the server.
USUAL = {"response/answer-in-reasoning", "soak/no-preemption", "soak/few-streams"}


class Servers(NamedTuple):
    """Two servers of one kind, and the tasks that they know ("" for the bundled set)."""

    control: str
    treatment: str
    tasks: tuple[str, ...]
    what: str


def ask(words: Sequence[str], folder: Path, limit_s: float = 300) -> dict[str, Any]:
    """Run a gate as installed; its verdict, the rules that fired, its result."""
    command = [str(Path(sys.executable).with_name("sparkproof")), *words]
    began = time.monotonic()
    environment = {**os.environ, "SPARKPROOF_DATA": str(folder)}
    try:
        done = subprocess.run(
            [*command, "--no-receipt", "--json"],
            env=environment,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
        report = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"verdict": f"none within {limit_s:g} s", "rules": [], "seconds": limit_s}
    fired = [f["rule"] for f in report.get("findings", ()) if f["severity"] != "info"]
    return {
        "verdict": report["verdict"],
        "rules": sorted(set(fired)),
        "seconds": round(time.monotonic() - began, 1),
        "result": report.get("result"),
        "error": (report.get("error") or {}).get("message", ""),
    }


def through(
    case_spec: str | None, gate: str, servers: Servers, seed: int, more: Sequence[str] = ()
) -> dict[str, Any]:
    """One gate through the proxy with one fault, or with none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "server.log"
        log.touch()
        faults = [case_spec] if case_spec else []
        with FaultProxy(servers.treatment, faults, seed=seed, log=log) as proxy:
            words = arguments(gate, servers.control, proxy.url, servers.tasks)
            words += ["--log", str(log)] if gate == "soak" else []
            found = ask([*words, *more], folder)
            found["struck"] = sum(proxy.injected.values())
            found["completions"] = proxy.completions
        wait_idle(servers.treatment)
    return found


def wait_idle(url: str) -> None:
    """Until what a cut connection left behind is done."""
    for _ in range(100):
        with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        rows = [r for r in text.splitlines() if r.startswith("vllm:num_requests_running")]
        if not sum(float(row.rsplit(" ", 1)[1]) for row in rows):
            return
        time.sleep(0.2)


def clean(servers: Servers) -> dict[str, Any]:
    """Each gate twice through the proxy without a fault; what it says there is no alarm."""
    rows: dict[str, Any] = {}
    for gate in GATES:
        runs = [through(None, gate, servers, seed) for seed in range(2)]
        rows[gate] = [short(run) for run in runs]
        if gate == "bench":
            rows["figures"] = [cell(run) for run in runs]
        show({"clean": gate, "runs": rows[gate]})
    preempted = through(None, "soak", servers, 0, ("--preempt",))
    rows["soak --preempt"] = [short(preempted)]
    show({"clean": "soak --preempt", "runs": rows["soak --preempt"]})
    return rows


def short(run: dict[str, Any]) -> dict[str, Any]:
    kept = ("verdict", "rules", "seconds", "struck", "completions", "error")
    return {key: run[key] for key in kept if run.get(key) not in (None, "")}


def cell(run: dict[str, Any]) -> dict[str, Any]:
    first = ((run.get("result") or {}).get("cells") or [{}])[0]
    found = {"tokens_per_chunk": first.get("tokens_per_chunk")}
    for name in ("decode_tokens_per_s", "ttft_s", "e2e_s"):
        found[name] = (first.get(name) or {}).get("median")
    return found


def matrix(servers: Servers, quiet: dict[str, Any], only: str) -> Iterator[dict[str, Any]]:
    for number, case in enumerate(CASES):
        if only and case.name not in only.split(","):
            continue
        for gate in case.gates():
            meant = gate in case.meant
            run = through(case.spec, gate, servers, number, case.more if meant else ())
            row = {"fault": case.spec, "gate": gate, "meant": meant, **short(run)}
            row["fired"] = fired(run, quiet.get(" ".join((gate, *case.more)), ()))
            if meant:
                row["caught"] = caught(case.meant[gate], run, quiet)
            if meant and not case.meant[gate]:
                row["figure"] = cell(run)
            show(row)
            yield row


def fired(run: dict[str, Any], clean_runs: Sequence[dict[str, Any]]) -> list[str]:
    """Rules that the clean server did not fire."""
    usual = {rule for one in clean_runs for rule in one["rules"]} | INSTRUMENT
    found = [rule for rule in run["rules"] if rule not in usual]
    return found or ([run["error"]] if run.get("error") else [])


def caught(rules: Sequence[str], run: dict[str, Any], quiet: dict[str, Any]) -> bool:
    if rules:
        return bool(set(rules) & set(run["rules"]))
    true = [one[FIGURE] for one in quiet["figures"]]
    told = cell(run)[FIGURE]
    return bool(told and min(true) / 2 < told < max(true) * 2)


def alarms(servers: Servers, runs: int) -> dict[str, Any]:
    """`ab --aa` through the clean proxy, again and again."""
    counts: dict[str, int] = {}
    prompts = ab_options(DETECT, PROMPTS)
    for number in range(runs):
        with tempfile.TemporaryDirectory() as name, FaultProxy(servers.treatment) as proxy:
            words = ["ab", proxy.url, "--aa", *servers.tasks, *prompts, "--concurrency", "8"]
            run = ask(words, Path(name))
        outcomes = [t["outcome"] for t in (run["result"] or {}).get("treatments", ())]
        key = f"{run['verdict']}, {', '.join(outcomes) or run['error']}"
        counts[key] = counts.get(key, 0) + 1
        show({"aa": number, "said": key, "rules": run["rules"], "seconds": run["seconds"]})
    false = sum(n for key, n in counts.items() if "corrupts" in key)
    return {"runs": runs, "prompts": PROMPTS, "false_alarms": false, "said": counts}


def batch_1(servers: Servers) -> dict[str, Any]:
    """What a check of one request at a time says of a server that breaks in a batch."""
    with (
        tempfile.TemporaryDirectory() as name,
        FaultProxy(servers.treatment, ["corrupt-above:8"]) as proxy,
    ):
        words = ["ab", servers.control, proxy.url, *servers.tasks, *ab_options(DETECT, PROMPTS)]
        run = ask([*words, "--concurrency", "1"], Path(name), 600)
    row = {"said": [t["outcome"] for t in run["result"]["treatments"]], **short(run)}
    show({"batch-1": row})
    return row


def again(servers: Servers, runs: int) -> dict[str, Any]:
    """The other gates on the clean server, again and again: whatever is more than usual."""
    said: dict[str, dict[str, int]] = {}
    for number in range(runs):
        for gate in ("smoke", "bench", "soak"):
            run = through(None, gate, servers, number)
            key = ", ".join(fired(run, [{"rules": USUAL}])) or "nothing"
            counts = said.setdefault(gate, {})
            counts[key] = counts.get(key, 0) + 1
            show({"again": gate, "run": number, "said": key, **short(run)})
    return {"runs": runs, "usual": sorted(USUAL), "said": said}


def power(servers: Servers, share: float, detect: str, prompts: int, runs: int) -> dict[str, Any]:
    """How often a share of corrupted answers is seen, against the stated power."""
    seen, struck = 0, []
    for number in range(runs):
        with (
            tempfile.TemporaryDirectory() as name,
            FaultProxy(servers.treatment, [f"corrupt:{share}"], seed=1000 + number) as proxy,
        ):
            words = ["ab", servers.control, proxy.url, *servers.tasks]
            run = ask([*words, *ab_options(detect, prompts), "--concurrency", "8"], Path(name))
            struck.append(proxy.injected["corrupt"])
        seen += "ab/corrupts" in run["rules"]
        show({"power": share, "run": number, "struck": struck[-1], "rules": run["rules"]})
    row = {"share": share, "detect": detect, "prompts": prompts, "runs": runs, "stated": 0.9}
    return {**row, "caught": seen, "struck_in_none": struck.count(0)}


@contextmanager
def stand_ins() -> Iterator[Servers]:
    tasks = (*bundled_tasks(300), *bundled_tasks(300, form=Form.RAW))
    with ExitStack() as stack:
        urls = []
        for number in range(2):
            quick = Behaviour(ttft_s=0.002, interval_s=0.0005, tool_parser="missing")
            server = TaskStandIn(quick)
            server.started += number
            server.learn(tasks)
            urls.append(stack.enter_context(OpenAIServer(server)).url)
        yield Servers(urls[0], urls[1], (), "two stand-ins")


@contextmanager
def real(folder: Path, given: argparse.Namespace) -> Iterator[Servers]:
    tasks = folder / "tasks.jsonl"
    tasks.write_bytes(tiny_tasks(400))
    known = ("--tasks", str(tasks))
    what = "vLLM for CPUs, tiny-qwen3, a pool of 64 blocks of 32 tokens behind the proxy"
    if given.control:
        yield Servers(given.control, given.treatment, known, what)
        return
    environment = vllm_environment()
    if environment is None:
        sys.exit("no environment of the live tier: `make test-live` makes it")
    with (
        serving(environment, TRAINED, ("--block-size", "32", *PARSERS)) as control,
        serving(environment, TRAINED, (*SMALL_POOL, *PARSERS)) as treatment,
    ):
        yield Servers(control.url, treatment.url, known, what)


def show(row: object) -> None:
    print(json.dumps(row), flush=True)


def run(given: argparse.Namespace) -> None:
    kept = json.loads(given.out.read_text()) if given.out.exists() and given.keep else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with stand_ins() if given.stand_in else real(folder, given) as servers:
            kept |= {
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "machine": f"{os.cpu_count()} cores, shared; load {os.getloadavg()[0]:.1f}",
                "server": servers.what,
            }
            for part in given.parts.split(","):
                kept |= measure(part, servers, given, kept)
                given.out.write_text(json.dumps(kept, indent=1) + "\n")


def measure(
    part: str, servers: Servers, given: argparse.Namespace, kept: dict[str, Any]
) -> dict[str, Any]:
    if part == "clean":
        return {"clean": clean(servers)}
    if part == "matrix":
        rows = list(matrix(servers, kept["clean"], given.only))
        done = {(row["fault"], row["gate"]) for row in rows}
        old = [r for r in kept.get("rows", ()) if (r["fault"], r["gate"]) not in done]
        return {"rows": [*(old if given.only else ()), *rows]}
    if part == "aa":
        return {"aa": alarms(servers, given.runs or AA_RUNS)}
    if part == "batch-1":
        return {"batch_1": batch_1(servers)}
    if part == "again":
        return {"again": again(servers, given.runs or AGAIN_RUNS)}
    share, detect, prompts = (0.01, "1%", 230) if part == "power-1" else (0.05, "5%", 45)
    row = power(servers, share, detect, prompts, given.runs or POWER_RUNS)
    rows = [r for r in kept.get("power", ()) if r["share"] != share]
    return {"power": [*rows, {**row, "server": servers.what}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--control", default="")
    parser.add_argument("--treatment", default="")
    parser.add_argument("--parts", default="clean,matrix,aa,power,power-1,again,batch-1")
    parser.add_argument("--only", default="", help="faults, by name")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the parts that are not run")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.what == "page":
        draw(json.loads(given.out.read_text()), PAGE)
        return
    run(given)


if __name__ == "__main__":
    main()
