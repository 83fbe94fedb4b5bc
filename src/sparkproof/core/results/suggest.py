"""What ``suggest`` answers: a first deployment, a reason for each line, and what to try next."""

from __future__ import annotations

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.verdict import Verdict


class SuggestedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One flag or field of the deployment.

    Attributes:
        value: as it is typed ("" for a switch, or where the thing is left out on purpose).
        rests_on: ``computed``, ``release surface``, ``selection``, ``fact`` or ``asked``.
        left_out: it is not in the deployment, and that is the choice.
        variable: an environment variable, no flag.
    """

    name: str
    value: str
    reason: str
    rests_on: str
    left_out: bool = False
    variable: bool = False


class Rung(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the ladder.

    Attributes:
        trouble: what is seen.
        change: what to do about it.
    """

    trouble: str
    change: str


class Tried(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One candidate and how it proved."""

    args: tuple[str, ...]
    verdict: Verdict
    reason: str


class SuggestResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The deployment and why it is as it is.

    Attributes:
        purpose: what it is for.
        release: version of vLLM, as the artifact or surface tells it.
        lines: in the order of the deployment.
        soak: what has to be soaked before it is relied on.
        tried: every candidate that was proven, the printed one last.
        plan: the KV pool; null where the layers are not known.
    """

    purpose: str
    release: str
    deployment: Deployment
    toml: str
    verdict: Verdict
    lines: tuple[SuggestedLine, ...]
    ladder: tuple[Rung, ...]
    soak: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = ()
    plan: KvPlan | None = None


DOCUMENTS = {"suggest": SuggestResult}
