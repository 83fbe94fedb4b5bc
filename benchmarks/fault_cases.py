"""Which fault is which gate's, with the rule that has to name it, and how each gate is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Case(NamedTuple):
    """A fault, and for each gate meant for it the rules of which one has to fire there.

    Attributes:
        spec: as the proxy takes it.
        meant: by gate; no rule where the fault must not change what is measured.
        more: further options of the gates meant for it; the others are not asked then.
        skip: gates that would only wait out their own time limits.
    """

    spec: str
    meant: Mapping[str, tuple[str, ...]]
    more: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.spec.partition(":")[0]

    def gates(self) -> list[str]:
        asked = [gate for gate in GATES if gate not in self.skip]
        return [gate for gate in asked if gate in self.meant or not self.more]


LOST = {"soak": ("soak/failed-requests",)}
WRONG = {"ab": ("ab/corrupts",)}
IN_A_BATCH = ("soak/not-text-alone", "soak/corrupted", "soak/probes-lost", "soak/probe-changed")
SILENT = ("smoke", "bench", "ab")
CASES = (
    Case("drop-version", WRONG),
    Case("mutate-key", WRONG),
    Case("corrupt:0.05", WRONG),
    Case("corrupt-above:8", {"soak": IN_A_BATCH, **WRONG}),
    Case("repeat:6", {"smoke": ("smoke/garbage", "smoke/doubtful"), **WRONG}),
    Case("garbage", {"smoke": ("smoke/garbage",), **WRONG}),
    Case("garbage:above=4", {"soak": ("soak/garbage",), **WRONG}),
    Case("stall:3,share=0.05", LOST, skip=SILENT),
    Case("pause:15,share=0.05", LOST, skip=SILENT),
    Case("slow:0.05", {"bench": ("bench/uneven-streams",)}),
    Case("truncate:0.1", LOST),
    Case("pack:4", {"bench": ()}),
    Case("die:8", {"soak": ("soak/engine-dead",)}),
    Case("illegal-access:40", {"soak": ("soak/illegal-access",)}),
    Case("restart:2,number=40", {"soak": ("soak/restarted",)}),
    Case("error:0.1", LOST),
    Case("usage:1.25", {"bench": ("bench/length",)}),
    Case("hide-preemptions", {"soak": ("soak/no-preemption",)}, more=("--preempt",)),
)
FIGURE = "decode_tokens_per_s"
GATES = ("smoke", "bench", "soak", "ab")
PROMPTS, DETECT = 45, "5%"
SOAK_TIMEOUT_S = 10


def arguments(gate: str, control: str, url: str, tasks: Sequence[str]) -> list[str]:
    """How a gate is asked about the server at `url`."""
    if gate == "bench":
        grid = ("--mode", "raw", "--depth", "96", "--output", "32", "--concurrency", "5")
        return [gate, url, *grid, "--requests", "10", "--repeats", "3"]
    if gate == "soak":
        return [gate, url, "--requests", "80", "--timeout", str(SOAK_TIMEOUT_S)]
    if gate == "ab":
        return [gate, control, url, *tasks, *ab_options(DETECT, PROMPTS), "--concurrency", "8"]
    return [gate, url]


def ab_options(detect: str, prompts: int) -> list[str]:
    """Quality alone, cold, at a stated power."""
    asked = ["--detect", detect, "--power", "0.9", "--prompts", str(prompts)]
    return [*asked, "--cold", "--no-speed", "--timeout", "60"]
