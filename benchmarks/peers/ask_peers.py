"""Runs in a throwaway environment with kvfit, hf-mem and sparkfit, not in ours.

Reads ``[{"config": …, "length": …, "element": bytes}]`` from stdin, writes for each the bytes
that each tool gives one request, or its refusal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

Asked = dict[str, Any]


def kvfit(case: Asked) -> float:
    found = import_module("kvfit.architectures").estimate_cache(
        case["config"], context_tokens=case["length"], kv_bytes=case["element"]
    )
    return float(found.total_bytes)


def hf_mem(case: Asked) -> float:
    count = import_module("hf_mem.safetensors.kv_cache").compute_safetensors_kv_cache_size
    config = case["config"].get("text_config", case["config"])
    dtype = {1: "F8_E4M3", 2: "BF16"}[case["element"]]
    return float(count(config, dtype, case["length"]))


def sparkfit(case: Asked) -> float:
    tool = import_module("sparkfit")
    spec = tool.parse_hf_config(case["config"].get("text_config", case["config"]))
    dtype = {1: "fp8", 2: "fp16"}[case["element"]]
    return float(tool.kv_total_bytes(spec, case["length"], 1, dtype))


TOOLS: dict[str, Callable[[Asked], float]] = {
    "kvfit": kvfit,
    "hf-mem": hf_mem,
    "sparkfit": sparkfit,
}


def main() -> None:
    answers = []
    for case in json.load(sys.stdin):
        row: dict[str, Any] = {}
        for name, ask in TOOLS.items():
            try:
                row[name] = ask(case)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a refusal is an answer
                row[name] = f"{type(error).__name__}: {error}"[:100]
        answers.append(row)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
