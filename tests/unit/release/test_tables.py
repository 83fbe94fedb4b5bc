"""The shipped surfaces beside tables that were made without this program.

Where the two differ, the source was looked into; each difference stands here with who is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.release import DeviceAnswer
from sparkproof.facts.surfaces import load_surface
from sparkproof.selection.answers import describe_oracles, device_rule

TABLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "release" / "tables.json").read_text()
)
RELEASES: list[str] = TABLES["releases"]
CAPABILITIES = ["7.5", "8.0", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"]

OTHER_APPLICATIONS = {"/generate", "/ready", "/readyz"}
"""`/generate` belongs to the old demonstration server (entrypoints/api_server.py), the other two
to the supervisor of data-parallel servers: none is a route of ``vllm serve``."""


SERVER_BEFORE = {"--log-config-file"}
"""A flag of the server until 0.30.0, so that the engine's table sees it come in 0.31.0."""


@cache
def surface(version: str) -> ReleaseSurface:
    return load_surface(version)


NAMES: dict[str, Callable[[ReleaseSurface], set[str]]] = {
    "enum moe/nvfp4": lambda s: _members(s, "moe/nvfp4"),
    "cli moe/nvfp4": lambda s: {item.name for item in _oracle(s, "moe/nvfp4").cli},
    "MoEBackend": lambda s: _choices(s, "--moe-backend"),
    "LinearBackend": lambda s: _choices(s, "--linear-backend"),
    "KernelConfig": lambda s: _fields(s, "KernelConfig"),
    "CacheDType": lambda s: _choices(s, "--kv-cache-dtype"),
    "MTPModelTypes": lambda s: set(getattr(s.literal("MTPModelTypes"), "values", ())),
    "SpeculativeConfig": lambda s: _fields(s, "SpeculativeConfig"),
    "AttentionBackendEnum": lambda s: _members(s, "attention/backend"),
    "Quantization": lambda s: _choices(s, "--quantization"),
    "metrics": lambda s: {item.name for item in s.metrics},
    "endpoints": lambda s: {item.path for item in s.endpoints},
    "tool": lambda s: {item.name for item in s.parsers if item.kind == "tool"},
    "reasoning": lambda s: {item.name for item in s.parsers if item.kind == "reasoning"},
    "extras": lambda s: set(s.extras),
}


def _oracle(found: ReleaseSurface, name: str) -> Any:
    return found.oracle(name)


def _members(found: ReleaseSurface, name: str) -> set[str]:
    return {item.name for item in _oracle(found, name).members if not item.alias_of}


def _choices(found: ReleaseSurface, flag: str) -> set[str]:
    option = found.option(flag)
    return set(option.choices) if option is not None else set()


def _fields(found: ReleaseSurface, name: str) -> set[str]:
    config = found.config(name)
    return {item.name for item in config.fields} if config is not None else set()


def _tabled(table: str, version: str) -> set[str]:
    names: set[str] = set()
    for release, row in TABLES["names"][table].items():
        if RELEASES.index(release) <= RELEASES.index(version):
            names |= set(row.get("names", ())) | set(row.get("came", ()))
            names -= set(row.get("went", ()))
    return names


@pytest.mark.parametrize("table", list(NAMES))
def test_sets_of_names(table: str) -> None:
    for version in RELEASES:
        ours, tabled = NAMES[table](surface(version)), _tabled(table, version)
        if table == "metrics":  # connectors' and offloading's own are left out of the table
            ours &= tabled
        if table == "endpoints":
            tabled -= OTHER_APPLICATIONS
        assert ours == tabled, version


def _short(name: str) -> str:
    name = re.sub(r"(LinearKernel|Kernel)\Z", "", name)
    return name.replace("ScaledMM", "").replace("BlockScaled", "Block")


@pytest.mark.parametrize("table", list(TABLES["orders"]))
def test_orders_as_they_stand_in_the_source(table: str) -> None:
    for row in TABLES["orders"][table]:
        for version in row["releases"]:
            oracle = surface(version).oracle(table.split(maxsplit=1)[0])
            assert oracle is not None
            listed = list(oracle.listed)
            if table.startswith("dense/"):
                listed = [_short(name) for name in listed]
            assert listed == row["order"], version


def test_flags_that_came_and_went() -> None:
    for before, version in pairwise(RELEASES):
        old = {name for item in surface(before).options for name in item.names}
        new = {name for item in surface(version).options for name in item.names}
        tabled = TABLES["flags"].get(version, {"added": [], "removed": []})
        assert set(tabled["added"]) - SERVER_BEFORE <= new - old, version
        # The table has no server flags, and a flag may go as another one's spelling.
        gone = {item.flag for item in surface(before).options} - new
        assert gone == set(tabled["removed"]), version


def test_environment_variables() -> None:
    for version in RELEASES:
        assert len(surface(version).env) == TABLES["variables"][version], version
    for before, version in pairwise(RELEASES):
        gone = set(surface(before).env_names) - set(surface(version).env_names)
        assert gone == set(TABLES["variables_gone"].get(version, ())), version


@pytest.mark.parametrize("version", RELEASES)
def test_requirements(version: str) -> None:
    found = surface(version)
    for name, tabled in TABLES["pins"][version].items():
        if name == "Requires-Python":
            assert found.python == tabled
            continue
        is_extra = name.endswith("(extra)")
        project = canonicalize_name(name.removesuffix("(extra)").strip())
        pins = [
            pin
            for pin in found.pins
            if pin.name == project and (is_extra or (pin.applies and not pin.extra))
        ]
        asks = f"[{','.join(pins[0].asks)}]" if pins and pins[0].asks else ""
        assert (asks + pins[0].specifier if pins else "-") == tabled, name


DEVICES = [
    (row["class"], version, row["capabilities"])
    for row in TABLES["devices"]
    for version in row["releases"]
]


@pytest.mark.parametrize("version", RELEASES)
def test_device_rules(version: str) -> None:
    """383 rules in all, with every package and operator left open."""
    for name, release, capabilities in DEVICES:
        if release != version:
            continue
        answers = {
            text: device_rule(surface(version), name, ComputeCapability.parse(text))[0]
            for text in CAPABILITIES
        }
        assert DeviceAnswer.UNREAD not in answers.values(), name
        ours = [text for text, answer in answers.items() if answer is not DeviceAnswer.NO]
        tabled = capabilities.replace("all from 7.5", ", ".join(CAPABILITIES)).split(", ")
        assert ours == tabled, name


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("capability", ["12.0", "12.1"])
def test_what_is_eligible_on_blackwell_desktops(version: str, capability: str) -> None:
    """With every package there. The tables know no activation format, so their batched ones are
    left out; and they let VLLM_CUTLASS take per-tensor FP8, which a loader has to allow first
    (`allow_vllm_cutlass`) and its grouped matrix product refuses from capability 11.0 on."""
    views = describe_oracles(surface(version), ComputeCapability.parse(capability), rows=False)
    ours = {f"{view.id} {view.case}": list(view.eligible) for view in views}
    for name, rows in TABLES["eligible"].items():
        tabled = [item for item in rows[version][capability] if not item.startswith("BATCHED_")]
        if name == "moe/fp8 fp8-tensor":
            tabled.remove("VLLM_CUTLASS")
        assert ours[name] == tabled, name


WORDING = [
    ("for NVFP4 GEMM", "0.20.2", "0.33.0"),
    ("NvFp4 MoE backend out of potential backends:", "0.20.2", "0.33.0"),
    ("Fp8 MoE backend out of potential backends:", "0.20.2", "0.33.0"),
    ("No NvFp4 MoE backend supports the deployment configuration", "0.20.2", "0.33.0"),
    ("for mixed-precision linear", "0.31.0", "0.33.0"),
    ("kernel exists for NVFP4 layers", "0.22.0", "0.27.1"),
    ("falling back to normal kernel selection", "0.28.0", "0.33.0"),
    ("has no kernel for this linear layer type", "0.29.0", "0.33.0"),
    ("falling back to the slow and unoptimized emulation backend", "0.20.2", "0.33.0"),
    ("does not have native support for FP4", "0.20.2", "0.33.0"),
    ("FlashInfer kernels are disabled", "0.32.0", "0.33.0"),
    ("attention backend out of potential backends:", "0.20.2", "0.33.0"),
    ("Using b12x with q_heads=", "0.30.0", "0.33.0"),
    ("Loading weights took", "0.20.2", "0.33.0"),
    ("Available KV cache memory:", "0.20.2", "0.33.0"),
    ("GPU KV cache size:", "0.20.2", "0.29.0"),
    ("Maximum concurrency for", "0.20.2", "0.33.0"),
    ("KV cache is needed, which is larger than the available KV cache memory", "0.20.2", "0.33.0"),
    ("No available memory for the cache blocks", "0.20.2", "0.33.0"),
    ("Setting attention block size to", "0.20.2", "0.33.0"),
    ("Padding mamba page size by", "0.20.2", "0.33.0"),
    ("Mamba cache mode is set to", "0.20.2", "0.33.0"),
    ("exceeds available Mamba cache blocks", "0.20.2", "0.33.0"),
    ("CUDA graph memory profiling is enabled (default since v0.21.0)", "0.20.2", "0.33.0"),
    ("Graph capturing finished in", "0.20.2", "0.33.0"),
    ("Enforce eager set, disabling torch.compile", "0.20.2", "0.33.0"),
    ("init engine (profile, create kv cache, warmup model) took", "0.20.2", "0.33.0"),
    ("Chunked prefill is enabled with max_num_batched_tokens=", "0.20.2", "0.33.0"),
    ("Asynchronous scheduling is", "0.20.2", "0.26.0"),
    ("Async scheduling not supported with", "0.20.2", "0.32.0"),
    ("does not support it with", "0.31.0", "0.33.0"),
    ("max_num_scheduled_tokens is set to", "0.20.2", "0.33.0"),
    ("will run multiple times of forward on same MTP layer", "0.20.2", "0.33.0"),
    ("SpecDecoding metrics: Mean acceptance length", "0.20.2", "0.33.0"),
    ("Avg prompt throughput", "0.20.2", "0.33.0"),
    ("Disabling prefix caching", "0.20.2", "0.33.0"),
    ("Kernel JIT monitor activated", "0.22.0", "0.33.0"),
    ("Running FlashInfer autotune with", "0.29.0", "0.33.0"),
    ("Unknown vLLM environment variable detected", "0.20.2", "0.33.0"),
    ("Engine core initialization failed. See root cause above.", "0.20.2", "0.33.0"),
]
"""Fragments of a boot log with the first and the last of the tabled releases that print them."""


@pytest.mark.parametrize(("fragment", "first", "last"), WORDING)
def test_wording_of_the_boot_log(fragment: str, first: str, last: str) -> None:
    span = RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1]
    found = [v for v in RELEASES if any(fragment in m.text for m in surface(v).messages)]
    assert found == span
