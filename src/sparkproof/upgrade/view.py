"""What is compared: one deployment as one release sees it."""

from __future__ import annotations

import msgspec

from sparkproof.core.capability import ComputeCapability
from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.deployment import Deployment
from sparkproof.core.field_report import FieldRecord
from sparkproof.core.memory_plan import KvPlan
from sparkproof.core.observations.release_surface import Option, ReleaseSurface
from sparkproof.core.results.proof import Branch
from sparkproof.core.results.upgrade import Edit

FLAG_REFUSED = "memory/flag-refused"
"""Rule of a flag with which the release ends; other refusals only say that nothing is planned."""


class Model(msgspec.Struct, frozen=True):
    """What a release's rules ask of the checkpoint.

    Attributes:
        read: whether the checkpoint was there; else only the words of the deployment are compared.
        quant_method: as it declares ("" for none).
    """

    read: bool = False
    architectures: tuple[str, ...] = ()
    quant_method: str = ""
    moe: bool = False
    hybrid: bool = False
    vision: bool = False


class Reported(msgspec.Struct, frozen=True):
    """What is reported against picks of a release on this class of device.

    Attributes:
        subjects: the layer classes; `backends` what they get, in words.
        edits: what gets around it, proven on that release; none where nothing does.
    """

    record: FieldRecord
    subjects: tuple[str, ...]
    backends: str
    edits: tuple[Edit, ...] = ()


class View(msgspec.Struct, frozen=True):
    """One side.

    Attributes:
        branches: the proof of every layer class; empty where the checkpoint was not read.
        plan: the KV pool; None where it can't be added up.
        given_pool: the pool was taken as given, since the weights are not known.
        refusals: why no plan can be made, or why the engine would not start on it, by rule;
            and by flag what the release has against the arguments as a whole.
        claims: what this release says to each claim.
        delivery: device code was looked at.
        reported: what speaks against its picks.
    """

    surface: ReleaseSurface
    branches: tuple[Branch, ...] = ()
    plan: KvPlan | None = None
    given_pool: bool = False
    refusals: dict[str, str] = {}
    claims: dict[str, ClaimAnswer] = {}
    delivery: bool = False
    reported: tuple[Reported, ...] = ()


class Born(msgspec.Struct, frozen=True):
    """An option that the old release did not have yet, as it came.

    Attributes:
        release: the first that has it.
    """

    release: str
    option: Option


class Case(msgspec.Struct, frozen=True):
    """One deployment on two releases.

    Attributes:
        born: by flag, options that came after the old release and before the new one: what they
            did by themselves then stands for the old release, where nobody could set it.
    """

    deployment: Deployment
    model: Model
    capability: ComputeCapability
    before: View
    after: View
    born: dict[str, Born] = {}
