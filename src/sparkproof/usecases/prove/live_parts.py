"""What a live proof is asked, what it works with, and the parts that a static proof holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from sparkproof.adapters.server import server_address
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.errors import UsageError
from sparkproof.core.report import Report
from sparkproof.core.results.live_proof import Part, PartName
from sparkproof.core.results.proof import ProofResult
from sparkproof.core.server_port import ServerPort
from sparkproof.core.verdict import Verdict, fold
from sparkproof.usecases.prove.summary import summarize

Say = Callable[[str], None]


class LiveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of a live proof.

    Attributes:
        address: of the server.
        control: of the control arm ("" for none).
        log: boot log, as `prove` takes it.
        quick: short gates.
        skip: parts to leave out.
    """

    address: str
    control: str = ""
    log: str = ""
    quick: bool = False
    skip: tuple[str, ...] = ()


class Wiring(NamedTuple):
    """Where receipts go, who is asked in place of the addresses, and who is told."""

    store: ReceiptStore | None
    port: ServerPort | None
    control_port: ServerPort | None
    say: Say
    show: Say


def refuse_addresses(request: LiveRequest) -> None:
    """Raise where an address is none, or both arms are one.

    Raises:
        UsageError: before anything is looked at.
    """
    for text in (request.address, request.control):
        if text.startswith("-"):
            raise UsageError(
                f"`{text}` stands where an address of a server is meant",
                hint="e.g. --live http://127.0.0.1:8000",
            )
    address = server_address(request.address)
    if request.control and server_address(request.control) == address:
        raise UsageError(
            "the control arm is the server itself",
            hint="`sparkproof ab URL --aa` shows what its noise is",
        )


def static_parts(static: Report[ProofResult]) -> Sequence[Part]:
    """The proof and the log's comparison, which one report holds."""
    assert static.result is not None
    told = [item for item in static.criteria if item.name == "log"]
    verdict = fold(item.verdict for item in static.criteria if item.name != "log")
    proven = verdict is Verdict.PASS
    first = Part(
        name=PartName.STATIC,
        verdict=verdict,
        summary=summarize(static.result.branches) if proven else static.summary,
        receipt=static.receipt,
    )
    if not told:
        why = "no boot log was given: --log FILE"
        return first, Part(name=PartName.LOG, verdict=Verdict.SKIPPED, summary=why)
    log = told[0]
    kept = static.receipt
    return first, Part(name=PartName.LOG, verdict=log.verdict, summary=log.reason, receipt=kept)
