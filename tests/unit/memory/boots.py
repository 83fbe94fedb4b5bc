"""Boots with their printed numbers, for tests."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec

from sparkproof.checkpoint.state_layout import read_state_layout
from sparkproof.core.observations.state_layout import StateLayout
from sparkproof.facts.memory_book import rules_of
from sparkproof.memory.kv_plan import KvShape
from sparkproof.memory.settings import Device, resolve_settings
from sparkproof.recipe.vllm_args import parse_serve_args

DATA = Path(__file__).parents[2] / "data" / "memory"
DEVICES = {
    "gb10": Device("12.1", 121.69),
    "h200": Device("9.0", 139.8),
    "thor": Device("11.0", 122.8),
    "a100": Device("8.0", 79.25),
    "rtx3090": Device("8.6", 23.6),
    "l40s": Device("8.9", 44.4),
    "rtx4090": Device("8.9", 23.5),
    "rtx5090": Device("12.0", 31.8),
    "rtx-pro-6000": Device("12.0", 94.97),
    "cpu": Device("cpu", 23.54),
}


class Printed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: int
    concurrency: float = 0.0
    block_size: int = 0
    blocks: int = 0
    padding: tuple[int, ...] = ()
    state_padding: float = 0.0


class Boot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    source: str
    date: date
    config: str
    device: str
    version: str
    rules: str
    args: tuple[str, ...]
    printed: Printed
    drafter: str = ""
    kv_gib: float | None = None
    kv_bytes: int = 0
    box: str = ""
    load_gib: float | None = None
    graph_estimate_gib: float | None = None
    utilization: float | None = None
    total_gib: float | None = None
    batched_tokens: int = 0
    note: str = ""

    @property
    def pool_bytes(self) -> int:
        return int(self.kv_gib * 2**30) if self.kv_gib is not None else self.kv_bytes

    def shape(self) -> KvShape:
        args = parse_serve_args(self.args)
        layout = read_layout(self.config)
        settings = resolve_settings(layout, args, rules_of(self.rules), DEVICES[self.device])
        return KvShape(layout, settings, read_layout(self.drafter) if self.drafter else None)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    boot: tuple[Boot, ...]


def read_boots() -> tuple[Boot, ...]:
    """All boots: those that the arithmetic was fitted to, and those predicted blind."""
    return tuple(boot for name in ("boots.toml", "boots_blind.toml") for boot in _read(name))


def _read(name: str) -> tuple[Boot, ...]:
    return msgspec.toml.decode((DATA / name).read_bytes(), type=_File).boot


def read_layout(name: str) -> StateLayout:
    return read_state_layout((DATA / "configs" / f"{name}.json").read_bytes(), name=name)
