"""What ``upgrade`` answers: what bites each deployment, and the deployment as it should be."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.finding import Confidence, Evidence
from sparkproof.core.verdict import Verdict


class Bite(StrEnum):
    """How a change is felt, worst first."""

    WONT_START = "won't start"
    KERNEL = "another kernel"
    SIZE = "another size"
    BEHAVIOUR = "another behaviour"
    LIFTED = "blockers lifted"


class Action(StrEnum):
    """What to do with a flag or a variable."""

    ADD = "add"
    CHANGE = "change"
    DROP = "drop"


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change of the deployment's text.

    Attributes:
        name: flag as the deployment spells it, or environment variable.
        value: what it takes afterwards ("" for a switch, or where it is dropped).
        key: keys below a JSON option; the option itself stays.
        variable: `name` is an environment variable.
    """

    action: Action
    name: str
    value: str = ""
    key: tuple[str, ...] = ()
    variable: bool = False


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that bites.

    Attributes:
        subject: flag, variable, layer class or setting it is about.
        before, after: the same fact of both releases, in a few words ("" where there is none).
        edits: what to do about it; none where nothing has to be done or nothing helps.
        optional: the edits only keep the old state; the deployment as it should be leaves them.
        rests_on: ``release surface``, ``selection``, ``field report``, ``arithmetic``, ``claim``
            or ``fact``.
        release: first release between that has it ("" where the steps were not asked for).
    """

    bite: Bite
    subject: str
    message: str
    rests_on: str
    before: str = ""
    after: str = ""
    edits: tuple[Edit, ...] = ()
    optional: bool = False
    confidence: Confidence = Confidence.SHOWN
    evidence: tuple[Evidence, ...] = ()
    release: str = ""


class StepChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one release on the way changes for the deployment."""

    before: str
    after: str
    changes: tuple[Change, ...]


class DeploymentUpgrade(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One deployment, on the old release and on the new one.

    Attributes:
        verdict: whether it can be taken as it is.
        delivery: whether device code of the new artifact was looked at.
        changes: sorted by how they are felt.
        standing: what is wrong on both sides, and no news.
        deployment: as it should be; `toml` is its text.
        unresolved: what still bites after the edits.
        steps: what each release between brings, where asked for.
    """

    name: str
    before: str
    after: str
    verdict: Verdict
    delivery: bool
    changes: tuple[Change, ...]
    standing: tuple[Change, ...]
    deployment: Deployment
    toml: str
    unresolved: tuple[Change, ...] = ()
    steps: tuple[StepChanges, ...] = ()


class UpgradeResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All deployments.

    Attributes:
        target: release that was asked about, as its artifact or surface tells it.
        device: title of the device.
    """

    target: str
    device: str
    deployments: tuple[DeploymentUpgrade, ...]


DOCUMENTS = {"upgrade": UpgradeResult}
