"""Several servers on one box: shares, and what each one's start-up check will see."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One server that shares the box.

    Attributes:
        requested_bytes: what its start-up check asks to be free.
        resident_bytes: what it holds once it is ready; at most the request, as a rule.
    """

    name: str
    requested_bytes: int
    resident_bytes: int


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One start in an order.

    Attributes:
        free_bytes: free at that moment, everything started before it counted.
    """

    name: str
    requested_bytes: int
    free_bytes: int
    passes: bool


class Residence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The box with all of them on it.

    Attributes:
        headroom_bytes: free once all are ready.
        fits: all checks pass and the reserve stays free.
    """

    starts: tuple[Start, ...]
    headroom_bytes: int
    fits: bool


def order_of_start(servers: Sequence[Server]) -> tuple[Server, ...]:
    """The order that asks least of the box: the most demanding check beyond its need first."""
    return tuple(sorted(servers, key=lambda s: (s.resident_bytes - s.requested_bytes, s.name)))


def plan_residence(
    servers: Sequence[Server], available_bytes: int, reserve_bytes: int
) -> Residence:
    """Start the servers one after the other, each only when the one before is ready.

    A check asks for the whole request to be free although less is held afterwards. Two that
    start at once move each other's figures; nothing here stands for that.
    """
    free = available_bytes
    starts = []
    for server in servers:
        passes = free >= server.requested_bytes
        starts.append(Start(server.name, server.requested_bytes, free, passes))
        free -= server.resident_bytes
    fits = all(start.passes for start in starts) and free >= reserve_bytes
    return Residence(tuple(starts), free, fits)
