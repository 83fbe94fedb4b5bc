"""Receipt files: bytes to struct."""

from __future__ import annotations

import contextlib
import json

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.core.receipt import RECEIPT_SCHEMA, Receipt

_VLLM_BENCH = frozenset({"backend", "model_id", "num_prompts", "duration", "completed"})
_REPORT = frozenset({"schema", "verdict", "summary"})
MAX_RECEIPT_BYTES = 64 << 20


def parse_receipt(data: bytes, where: str) -> Receipt:
    """Decode a receipt file.

    Raises:
        FormatError: no receipt of a schema this version knows, or a key that stands twice
            (another reader might take the other one).
    """
    if len(data) > MAX_RECEIPT_BYTES:
        raise FormatError("larger than any receipt", where=where)
    try:
        json.loads(data, object_pairs_hook=_unique)
        receipt = msgspec.json.decode(data, type=Receipt)
        msgspec.json.decode(receipt.report, type=dict[str, object])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        _refuse_known(data, where)
        raise FormatError(f"no receipt: {error}", where=where) from error
    if receipt.schema != RECEIPT_SCHEMA:
        raise FormatError(
            f"receipt of schema `{receipt.schema}`",
            where=where,
            hint=f"this version reads {RECEIPT_SCHEMA}",
        )
    return receipt


def _refuse_known(data: bytes, where: str) -> None:
    """Say what a document is that is taken for a receipt because it holds figures."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).keys()
        if fields >= _VLLM_BENCH:
            raise FormatError(
                "a result of vllm bench, not a receipt: a difference could be put down to nothing",
                where=where,
                hint="measure with `sparkproof bench URL`; see `sparkproof receipt list`",
            )
        if fields >= _REPORT and "report" not in fields:
            raise FormatError(
                "a report, not a receipt",
                where=where,
                hint="`sparkproof receipt list` shows the receipts of what was measured",
            )


def _unique(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"key `{key[:40]}` stands twice")
        seen.add(key)
