"""The third statement of a proof: what a server showed before, by the receipts of a store."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

import msgspec

from sparkproof.adapters.receipt_index import ReceiptIndex
from sparkproof.adapters.store import ReceiptStore
from sparkproof.core.deployment import Deployment
from sparkproof.core.digest import digest
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.finding import Confidence, Evidence, Finding, Severity
from sparkproof.core.identities import Identities
from sparkproof.core.redaction import redact_environment
from sparkproof.core.results.proof import Shown
from sparkproof.core.results.receipts import ReceiptRow
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.usecases.bench.identities import checkpoint_digest

LIVE = ("smoke", "soak", "bench")
"""Gates whose receipt says that a server ran."""
_MEASURED = "bench"
_LOOKED_AT = 20
"""How many of the newest measurements are opened to compare their identities."""
_SAME = "checkpoint, artifact and choices"


class _Measurement(msgspec.Struct, frozen=True):
    identities: Identities = Identities()


class _Told(msgspec.Struct, frozen=True):
    result: _Measurement | None = None


def find_shown(store: ReceiptStore, deployment: Deployment) -> tuple[Shown, ...]:
    """The newest receipt of each gate about the same deployment, newest first.

    A measurement of another deployment counts where checkpoint, artifact, environment and all
    that decides about kernels are the same. A store that can't be read shows nothing.
    """
    try:
        with ReceiptIndex(store) as index:
            exact = [
                _shown(row, "deployment")
                for row in index.of_input("deployment", digest(deployment))
                if row.command in LIVE
            ]
            known = {item.receipt for item in exact}
            measured, _ = index.rows(_MEASURED)
    except UnreachableError:
        return ()
    alike = [
        _shown(row, _SAME)
        for row in measured[-_LOOKED_AT:]
        if row.hash not in known and _is_alike(store, row, deployment)
    ]
    newest = {item.command: item for item in sorted((*alike, *exact), key=_age)}
    return tuple(sorted(newest.values(), key=_age, reverse=True))


def _age(item: Shown) -> str:
    return item.created_at


def _shown(row: ReceiptRow, same: str) -> Shown:
    verdict = Verdict(row.verdict)
    return Shown(row.command, verdict, row.created_at, row.hash, row.summary, same)


def _is_alike(store: ReceiptStore, row: ReceiptRow, deployment: Deployment) -> bool:
    try:
        _, receipt = store.find(row.file)
        told = msgspec.json.decode(receipt.report, type=_Told)
        measured = told.result.identities if told.result is not None else Identities()
        chosen = measured.chosen
        words = shlex.split(chosen.get("arguments", ""))
        same = parse_selection_args(words) == parse_selection_args(deployment.args)
    except (FormatError, UsageError, UnreachableError, msgspec.DecodeError, ValueError):
        return False
    environment = redact_environment(deployment.env)
    return (
        same
        and bool(deployment.artifact)
        and chosen.get("artifact") == deployment.artifact
        and chosen.get("environment", "")
        == " ".join(f"{name}={value}" for name, value in sorted(environment.items()))
        and bool(content := checkpoint_digest(deployment.checkpoint))
        and measured.contents.get("checkpoint") == content
    )


def shown_criteria(found: Iterable[Shown]) -> Iterator[Criterion]:
    """A row each, told apart from what is delivered and neutral in the fold."""
    for item in found:
        yield Criterion(
            name=f"shown/{item.command}",
            verdict=Verdict.SKIPPED,
            reason=f"{item.verdict.value} on {item.created_at[:10]}: {item.summary}",
            warning=item.verdict is Verdict.FAIL,
            evidence=(Evidence(where=item.receipt, what=f"same {item.same}"),),
        )


def find_failures_shown(found: Iterable[Shown]) -> Iterator[Finding]:
    """A gate that failed the last time it asked the same deployment."""
    for item in found:
        if item.verdict in (Verdict.FAIL, Verdict.ERROR):
            yield Finding(
                rule="shown/failed",
                severity=Severity.WARNING,
                confidence=Confidence.SHOWN,
                message=f"{item.command} of the same {item.same} ended in {item.verdict.value} "
                f"on {item.created_at[:10]}: {item.summary}",
                subject=item.command,
                evidence=(Evidence(where=item.receipt, what=item.summary),),
                remedy=f"`sparkproof receipt show {item.receipt.removeprefix('sha256:')[:12]}`",
            )
