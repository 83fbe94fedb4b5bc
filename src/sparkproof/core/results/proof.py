"""Payload of ``prove``: the three links of one deployment, judged."""

from __future__ import annotations

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.finding import Evidence
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.prediction import Prediction
from sparkproof.core.results.fit import FitResult
from sparkproof.core.results.live_proof import LiveProof
from sparkproof.core.verdict import Verdict


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing a selected backend needs, and whether this device gets it.

    Attributes:
        what: what it is for.
        means: ``family``, ``nvcc``, ``bundled-compiler`` or ``package``.
        name: id of the kernel family, or the package that compiles or holds the code.
        route: how the device gets it, e.g. ``family``, ``ptx-jit``, ``none``.
        kernels: unique kernels behind the route.
        archs: labels of what is loaded, e.g. ``sm_120f``.
        warning: works, at a price.
    """

    what: str
    means: str
    name: str
    verdict: Verdict
    reason: str
    route: str = ""
    kernels: int = 0
    archs: tuple[str, ...] = ()
    warning: bool = False
    evidence: tuple[Evidence, ...] = ()


class LayerProof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One layer class through select and deliver.

    Attributes:
        subject: layer class, or ``attention kernel``, ``every model``.
        layers: which of the class's layers ("" for all).
        prediction: null where no oracle is asked.
        speed: ``native FP4``, ``weight-only`` … ("" where nothing is selected).
        backend: title of what is selected, in words.
        guess: what the pick rests on that nobody looked up ("" for nothing).
    """

    subject: str
    scheme: str
    verdict: Verdict
    reason: str
    deliveries: tuple[Delivery, ...]
    prediction: Prediction | None = None
    layers: str = ""
    backend: str = ""
    speed: str = ""
    warning: bool = False
    guess: str = ""


class Branch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The proof under one set of assumptions about what was not stated.

    Attributes:
        assumptions: gate name to ``yes`` or ``no``; empty where nothing was open.
    """

    assumptions: dict[str, str]
    verdict: Verdict
    layers: tuple[LayerProof, ...]


class Alternative(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What another flag or image would give; proven like the deployment itself.

    Attributes:
        change: what to type or change.
    """

    change: str
    verdict: Verdict
    summary: str


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the comparison.

    Attributes:
        agrees: None where the log does not say, or nothing was predicted.
        likely: the likeliest reason of a difference ("" where they agree).
    """

    name: str
    predicted: str
    observed: str
    agrees: bool | None
    likely: str = ""
    line: int = 0


class LogComparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The proof held against a boot log.

    Attributes:
        log: what the log is called.
        boot: which boot of the log, 1-based; the last one is compared.
        rows: every predicted fact beside the observed one.
        note: on which pool its tokens are predicted, and which one the proof plans.
    """

    log: str
    boot: int
    rows: tuple[Agreement, ...]
    note: str = ""


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a live server showed before: a receipt of this store about the same thing.

    Attributes:
        command: the gate that asked it, e.g. ``smoke``.
        created_at: RFC 3339, UTC.
        receipt: its digest.
        same: what is the same: ``deployment``, or ``checkpoint, artifact and choices``.
    """

    command: str
    verdict: Verdict
    created_at: str
    receipt: str
    summary: str
    same: str


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether it fits, as ``fit`` answers it on the box as it is planned with.

    Attributes:
        summary: the pool in one line, or why it is not planned.
        plan: None where it can't be planned.
        notes: what else the flags do to memory and graphs.
    """

    summary: str
    plan: FitResult | None = None
    notes: tuple[str, ...] = ()


class ProofResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was seen, what will be selected, whether it is delivered.

    Attributes:
        deployment: as given, secrets taken out.
        device: title; `capability` as ``12.1``.
        release: version of vLLM as the artifact itself tells it.
        toolkit: CUDA toolkit that built the artifact's device code, e.g. ``13.0.88``.
        branches: one, or two and more where the box was left unstated.
        live: the running server held against it, with ``--live``.
        shown: what a server showed before, newest first; None where no store was asked.
        memory: whether it fits.
    """

    deployment: Deployment
    device: str
    capability: str
    release: str
    toolkit: str
    profile: CheckpointProfile
    branches: tuple[Branch, ...]
    alternatives: tuple[Alternative, ...] = ()
    boot_log: LogComparison | None = None
    live: LiveProof | None = None
    shown: tuple[Shown, ...] | None = None
    memory: Memory | None = None

    @property
    def interrupted(self) -> bool:
        """Somebody stopped the live part."""
        return self.live is not None and self.live.interrupted


DOCUMENTS = {"prove": ProofResult}
