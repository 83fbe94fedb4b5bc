"""A deployment from a TOML, from options, or from both: the options win."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UsageError
from sparkproof.usecases.fit_inputs import read_deployment


def gather_deployment(
    reference: str,
    *,
    artifact: str = "",
    device: str = "",
    vllm_args: Sequence[str] = (),
    env: Sequence[str] = (),
    box: Mapping[str, Any] | None = None,
) -> Deployment:
    """What the command line describes.

    Args:
        reference: a deployment TOML or a checkpoint.
        vllm_args: in place of the TOML's `args` where there are some.
        env: ``NAME=VALUE`` pairs, on top of the TOML's.
        box: fields of `Box`; None leaves what the TOML says.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    if reference.endswith(".toml"):
        base = read_deployment(Path(reference))
    else:
        base = Deployment(checkpoint=reference, name=Path(reference).name)
    changes: dict[str, Any] = {"env": {**base.env, **_variables(env)}}
    if artifact:
        changes["artifact"] = artifact
    if device:
        changes["device"] = device
    if vllm_args:
        changes["args"] = tuple(vllm_args)
    stated = {name: value for name, value in (box or {}).items() if value is not None}
    if stated:
        changes["box"] = msgspec.structs.replace(base.box, **stated)
    return msgspec.structs.replace(base, **changes)


def _variables(pairs: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"`{pair}` is no NAME=VALUE")
        found[name] = value
    return found
