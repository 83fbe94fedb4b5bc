"""The dated, hashed record of a proof or a gate."""

from __future__ import annotations

import msgspec

from sparkproof.core.digest import digest
from sparkproof.core.errors import FormatError
from sparkproof.core.verdict import Verdict

RECEIPT_SCHEMA = "sparkproof/receipt/1"


class Receipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sealed report.

    Attributes:
        created_at: RFC 3339, UTC.
        inputs: digest of every input by role: ``deployment``, ``checkpoint``, ``artifact``.
        parents: digests of the receipts this one builds on.
        previous: digest of the receipt written before it ("" for a store's first).
        report: the redacted report, as JSON.
        hash: ``sha256:<hex>`` of the canonical form of all other fields.
    """

    schema: str
    command: str
    created_at: str
    tool_version: str
    inputs: dict[str, str]
    verdict: Verdict
    report: msgspec.Raw
    parents: tuple[str, ...] = ()
    previous: str = ""
    hash: str = ""


def content_hash(receipt: Receipt) -> str:
    """``sha256:<hex>`` over every field but `hash`.

    Raises:
        FormatError: the content has no canonical form.
    """
    try:
        plain = msgspec.json.decode(msgspec.json.encode(receipt))
    except msgspec.DecodeError as error:
        raise FormatError(f"the report in it is no JSON: {error}") from error
    del plain["hash"]
    return digest(plain)
