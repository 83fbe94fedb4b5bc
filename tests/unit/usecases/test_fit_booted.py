"""What a boot's own log proves of the box that it ran on."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkproof.core.memory_plan import MemoryPlan
from sparkproof.core.report import Report
from sparkproof.core.results.fit import FitResult
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.fit.command import FitRequest, fit

CONFIGS = Path(__file__).parents[2] / "data" / "memory" / "configs"
NANO = (
    "--max-model-len", "49152", "--kv-cache-dtype", "fp8_e4m3", "--no-enable-prefix-caching",
    "--gpu-memory-utilization", "0.95", "--mamba-ssm-cache-dtype", "float32",
)  # fmt: skip
SUPER = (
    "--max-model-len", "131072", "--kv-cache-dtype", "fp8", "--no-enable-prefix-caching",
    "--gpu-memory-utilization", "0.95", "--max-num-seqs", "20", "--mamba-ssm-cache-dtype",
    "float32", "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}',
)  # fmt: skip
BOOTS = {
    "nemotron-3-nano-4b": ("0.20.0", NANO, 103.39, 7.43),
    "nemotron-3-super-120b": ("0.19.1", SUPER, 36.25, 75.03),
}


def ask(config: str, **parts: object) -> Report[FitResult]:
    version, argv, kv_gib, weights_gib = BOOTS[config]
    given = {"version": version, "argv": argv, "kv_gib": kv_gib, "weights_gib": weights_gib}
    return fit(FitRequest(str(CONFIGS / f"{config}.json"), **{**given, **parts}))  # type: ignore[arg-type]


def memory_of(report: Report[FitResult]) -> MemoryPlan:
    assert report.result is not None
    assert report.result.memory is not None
    return report.result.memory


@pytest.mark.parametrize("config", BOOTS)
def test_the_start_up_check_of_a_boot_bounds_what_lies_outside_its_request(config: str) -> None:
    report = ask(config)
    memory = memory_of(report)
    left = memory.total_bytes - memory.requested_bytes
    assert left - len(memory.host) <= sum(line.bytes for line in memory.host) <= left
    assert all(line.low_bytes <= line.bytes <= line.high_bytes <= left for line in memory.host)
    steady = next(phase for phase in memory.phases if phase.name == "steady")
    assert steady.free_bytes >= 0
    assert report.verdict is Verdict.PASS
    rules = {finding.rule for finding in report.findings}
    assert {"memory/over-reservation", "memory/phase-starves-host"} <= rules


def test_a_share_that_leaves_enough_bends_no_estimate_but_its_end() -> None:
    share = (*NANO[:-3], "0.9", *NANO[-2:])
    roomy = memory_of(ask("nemotron-3-nano-4b", argv=share, kv_gib=60.0))
    planned = memory_of(ask("nemotron-3-nano-4b", kv_gib=None))
    assert [line.bytes for line in roomy.host] == [line.bytes for line in planned.host]
    assert roomy.host[0].high_bytes < planned.host[0].high_bytes


def test_nothing_is_proven_where_the_pool_is_planned_or_the_box_was_read(tmp_path: Path) -> None:
    planned = memory_of(ask("nemotron-3-nano-4b", kv_gib=None))
    trial = memory_of(ask("nemotron-3-nano-4b", trial=True))
    assert trial.host == planned.host
    saved = tmp_path / "meminfo"
    saved.write_text("MemTotal: 127600000 kB\nMemAvailable: 110000000 kB\n")
    read = memory_of(ask("nemotron-3-nano-4b", meminfo=saved))
    assert read.host[0].bytes == 17600000 * 1024
    assert read.host[1:] == planned.host[1:]
