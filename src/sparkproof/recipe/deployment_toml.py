"""Our own deployment TOML."""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError

MAX_BYTES = 1 << 20
SCHEMA = 1
_LINE = re.compile(r"\(at line (\d+)")


def parse_deployment(data: bytes, where: str) -> Deployment:
    """Decode a deployment.

    Raises:
        FormatError: not TOML, a field that does not exist or has the wrong type, or a schema
            of another version; the message names the field or line.
    """
    if len(data) > MAX_BYTES:
        raise FormatError(f"larger than {MAX_BYTES} bytes", where=where)
    try:
        deployment = msgspec.toml.decode(data, type=Deployment)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = str(error) or type(error).__name__
        line = _LINE.search(text)
        message = text[0].lower() + text[1:]
        raise FormatError(
            message.replace(" - at `$.", " at `").replace(" - at `$`", ""),
            where=where,
            line=int(line[1]) if line else 0,
            hint="`sparkproof explain deployment` shows the schema",
        ) from error
    if deployment.schema != SCHEMA:
        raise FormatError(
            f"deployment schema {deployment.schema} is not known",
            where=where,
            hint=f"this version reads schema {SCHEMA}",
        )
    return deployment
