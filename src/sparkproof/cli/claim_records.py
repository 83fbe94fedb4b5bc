"""Record what wheels say of every claim, or draw the page of the docs.

``python -m sparkproof.cli.claim_records record FOLDER REF...`` writes one file a release;
``python -m sparkproof.cli.claim_records page FILE`` draws the matrix from the records.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from sparkproof.facts.claim_records import ClaimRecord
from sparkproof.render.claims_page import render_page
from sparkproof.usecases.claims.recording import record_release
from sparkproof.usecases.facts import make_matrix


def write_records(folder: Path, references: list[str]) -> None:
    """Write one record a release into `folder`; a wheel should come before the release's sdist."""
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, ClaimRecord] = {}
    for reference in references:
        record = record_release(reference)
        version = record.version
        made[version] = made[version].joined(record) if version in made else record
        data = msgspec.json.format(msgspec.json.encode(made[version]), indent=1)
        (folder / f"{version}.json").write_bytes(data + b"\n")


def write_page(path: Path) -> None:
    """Write the matrix as a page."""
    result = make_matrix().result
    assert result is not None
    path.write_text(render_page(result), encoding="utf-8")


if __name__ == "__main__":
    verb, place, *rest = sys.argv[1:]
    if verb == "record":
        write_records(Path(place), rest)
    else:
        write_page(Path(place))
