"""Probe of a checkout's history."""

from __future__ import annotations

from sparkproof.claims.material import Material, told, untold
from sparkproof.core.claims import Told
from sparkproof.core.finding import Evidence
from sparkproof.facts.claim_probes import PullRequests

_NO_HISTORY = "no history is at hand: name a checkout of vLLM with its commits"


def pull_requests(material: Material, probe: PullRequests) -> Told:
    """Whether every one of them is in the history; a history that is cut off leaves it open."""
    if material.history is None:
        return untold(_NO_HISTORY)
    found = {number: material.history(number) for number in probe.numbers}
    absent = [number for number, landed in found.items() if not landed.commit]
    if any(found[number].cut_off for number in absent):
        return untold("the history is cut off (a shallow clone)")
    seen = ", ".join(
        f"#{number} {'since ' + landed.first_tag if landed.first_tag else 'in no release tag yet'}"
        for number, landed in found.items()
        if landed.commit
    )
    missing = "no commit names " + " or ".join(f"#{number}" for number in absent)
    places = (Evidence(where=item.commit[:12], what=item.subject) for item in found.values())
    return told(not absent, probe.expect, seen, missing, *(p for p in places if p.where))
