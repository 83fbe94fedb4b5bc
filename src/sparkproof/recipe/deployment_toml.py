"""Our own deployment TOML."""

from __future__ import annotations

import re

import msgspec

from sparkproof.core.deployment import MAX_ARGS, Deployment
from sparkproof.core.errors import FormatError
from sparkproof.core.units import MAX_GIB, MIN_BOX_GIB

MAX_BYTES = 1 << 18
SCHEMA = 1
_HINT = "`sparkproof explain deployment` shows the schema"
_LINE = re.compile(r"\(at line (\d+)")
# The TOML reader remembers every prefix of a dotted key: time and memory grow with the square.
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){33}""", re.ASCII
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse_deployment(data: bytes, where: str) -> Deployment:
    """Decode a deployment.

    Raises:
        FormatError: not TOML, a field that does not exist or has the wrong type or range, or a
            schema of another version; the message names the field or line.
    """
    if len(data) > MAX_BYTES:
        raise FormatError(f"larger than {MAX_BYTES} bytes", where=where)
    try:
        text = data.decode("utf-8-sig")
        if _LONG_KEY.search(text):
            raise FormatError("a dotted key of more than 32 parts", where=where, hint=_HINT)
        deployment = msgspec.toml.decode(text, type=Deployment)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _told(error, where) from error
    if deployment.schema != SCHEMA:
        raise FormatError(
            f"deployment schema {deployment.schema} is not known",
            where=where,
            hint=f"this version reads schema {SCHEMA}",
        )
    _check_values(deployment, where)
    return deployment


def _told(error: Exception, where: str) -> FormatError:
    text = str(error) or type(error).__name__
    line = _LINE.search(text)
    message = text[0].lower() + text[1:]
    return FormatError(
        message.replace(" - at `$.", " at `").replace(" - at `$`", ""),
        where=where,
        line=int(line[1]) if line else 0,
        hint=_HINT,
    )


def _check_values(deployment: Deployment, where: str) -> None:
    if len(deployment.args) > MAX_ARGS:
        message = f"`args` has {len(deployment.args)} words, more than the {MAX_ARGS} that are read"
        raise FormatError(message, where=where, hint=_HINT)
    box = deployment.box
    numbers = {
        "weights_gib": deployment.weights_gib,
        "box.total_memory_gib": box.total_memory_gib,
        "box.reserve_gib": box.reserve_gib,
        **{f"box.co_tenants.{name}": value for name, value in box.co_tenants.items()},
    }
    for name, value in numbers.items():
        least = MIN_BOX_GIB if name == "box.total_memory_gib" else 0
        if value is not None and not least <= value <= MAX_GIB:
            raise FormatError(f"`{name}` is no amount of memory: {value}", where=where, hint=_HINT)
    if not deployment.checkpoint.strip():
        raise FormatError("`checkpoint` is empty", where=where, hint=_HINT)
    for name in ("checkpoint", "artifact", "device", "name", "server_url", "control"):
        if _CONTROL.search(getattr(deployment, name)):
            raise FormatError(f"`{name}` holds a control character", where=where, hint=_HINT)
