"""What each release's own wheel said to every claim, recorded so that a version number is enough.

The records are made by ``python -m sparkproof.cli.claim_records`` from the wheels themselves,
device code and source text included, and name the wheel by hash.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib import resources

import msgspec
from packaging.version import Version

from sparkproof.core.claims import ClaimAnswer
from sparkproof.core.digest import canonical_json, sha256_hex
from sparkproof.core.errors import FormatError
from sparkproof.facts.claim import Claim

FOLDER = "claim_records"


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer.

    Attributes:
        probe: digest of the probe that was asked, so that a changed one is not answered by it.
        artifact: which of the record's artifacts told, from 0.
    """

    answer: ClaimAnswer
    seen: str
    probe: str
    artifact: int = 0


class RecordedArtifact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wheel or sdist of a release, by name and hash."""

    filename: str
    sha256: str


class ClaimRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All answers of one release: those of its wheel, and of its sdist where only that can tell.

    Attributes:
        device: capability that device code was judged for.
    """

    version: str
    artifacts: tuple[RecordedArtifact, ...]
    recorded: date
    device: str
    answers: dict[str, Recorded]

    def joined(self, other: ClaimRecord) -> ClaimRecord:
        """The same, with what another artifact of the same release tells beside it."""
        first = len(self.artifacts)
        answers = dict(self.answers)
        for name, found in other.answers.items():
            mine = answers.get(name)
            told = found.answer is not ClaimAnswer.CANNOT_BE_TOLD
            if mine is None or (told and mine.answer is ClaimAnswer.CANNOT_BE_TOLD):
                answers[name] = msgspec.structs.replace(found, artifact=first + found.artifact)
        return msgspec.structs.replace(
            self, artifacts=(*self.artifacts, *other.artifacts), answers=answers
        )

    def of(self, claim: Claim) -> Recorded | None:
        """The answer to a claim as it is asked today; None where there is none."""
        found = self.answers.get(claim.id)
        return found if found is not None and found.probe == probe_digest(claim) else None


def probe_digest(claim: Claim) -> str:
    """First sixteen hex digits of the hash of a claim's probe and range."""
    return sha256_hex(canonical_json({"probe": claim.probe, "only": claim.only}))[:16]


@cache
def claim_records() -> dict[str, ClaimRecord]:
    """All records by version, oldest first.

    Raises:
        FormatError: a file does not fit its schema: a bug of ours.
    """
    folder = resources.files(__package__).joinpath("data", FOLDER)
    found: list[ClaimRecord] = []
    for item in folder.iterdir() if folder.is_dir() else ():
        if item.name.endswith(".json"):
            try:
                found.append(msgspec.json.decode(item.read_bytes(), type=ClaimRecord))
            except msgspec.DecodeError as error:
                raise FormatError(str(error), where=f"facts/data/{FOLDER}/{item.name}") from error
    return {item.version: item for item in sorted(found, key=lambda one: Version(one.version))}
