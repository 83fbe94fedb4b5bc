"""A deployment from a TOML, from options, or from both: the options win."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sparkproof.adapters.files import is_there
from sparkproof.adapters.log_sources import inspect_container, read_small
from sparkproof.core.deployment import MAX_ARGS, Deployment
from sparkproof.core.errors import UnreachableError, UsageError
from sparkproof.recipe.docker_inspect import MAX_BYTES as MAX_INSPECT_BYTES
from sparkproof.recipe.docker_inspect import deployment_of, parse_docker_inspect
from sparkproof.recipe.launch_script import MAX_BYTES as MAX_SCRIPT_BYTES
from sparkproof.recipe.launch_script import parse_launch_script
from sparkproof.recipe.orchestration_json import (
    is_inspection,
    is_model_config,
    parse_saved_json,
)
from sparkproof.recipe.other_forms import SUFFIXES as OTHER_FORMS
from sparkproof.recipe.other_forms import refuse_form
from sparkproof.recipe.overrides import refuse_config_file
from sparkproof.usecases.fit.inputs import read_deployment

_CONFIG = "config.json"
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Z][A-Z_]{0,60}")


def gather_deployment(
    reference: str,
    *,
    checkpoint: str = "",
    artifact: str = "",
    device: str = "",
    vllm_args: Sequence[str] = (),
    env: Sequence[str] = (),
    box: Mapping[str, Any] | None = None,
    weights_gib: float | None = None,
    packages: Sequence[str] = (),
) -> Deployment:
    """What the command line describes.

    Args:
        reference: a deployment TOML or the folder of one, ``container:NAME``, saved JSON (of an
            inspection, a compose file or a Kubernetes object), a launch script, or a checkpoint.
        vllm_args: in place of the TOML's `args` where there are some.
        env: ``NAME=VALUE`` pairs, on top of the TOML's.
        box: fields of `Box`; None leaves what the TOML says.
        weights_gib: None leaves what the TOML says.
        packages: ``NAME=VERSION`` pairs beside vLLM, on top of the TOML's.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    base = _base(_own_toml(reference))
    changes: dict[str, Any] = {"env": {**base.env, **_variables(env)}}
    if checkpoint:
        changes["checkpoint"] = checkpoint
    if artifact:
        changes["artifact"] = artifact
    if device:
        changes["device"] = device
    if vllm_args:
        changes["args"] = tuple(vllm_args)
    if weights_gib is not None:
        changes["weights_gib"] = weights_gib
    stated = {name: value for name, value in (box or {}).items() if value is not None}
    if packages:
        stated["packages"] = {**base.box.packages, **package_versions(packages)}
    if stated:
        changes["box"] = msgspec.structs.replace(base.box, **stated)
    deployment = msgspec.structs.replace(base, **changes)
    _check_words(deployment.args)
    return deployment


def _base(reference: str) -> Deployment:
    """What the reference alone says, by its form."""
    path = Path(reference)
    if reference.endswith(".toml"):
        return read_deployment(path)
    if reference.startswith("container:"):
        name = reference.removeprefix("container:")
        return deployment_of(parse_docker_inspect(inspect_container(name), reference), reference)
    if reference.endswith(".json"):
        return _from_json(path, reference)
    if reference.endswith((".sh", ".bash")) and is_there(path):
        return parse_launch_script(read_small(path, MAX_SCRIPT_BYTES), reference)
    if reference.endswith(OTHER_FORMS) and is_there(path):
        data = read_small(path, MAX_SCRIPT_BYTES)
        raise refuse_form(data.decode("utf-8", "replace"), reference)
    return Deployment(checkpoint=reference, name=path.name)


def _from_json(path: Path, reference: str) -> Deployment:
    """A checkpoint's config or saved JSON of a container, by what it holds and not by its name."""
    named_config = path.name == _CONFIG
    if named_config and not is_there(path):
        return Deployment(checkpoint=reference, name=path.name)
    data = read_small(path, MAX_INSPECT_BYTES)
    if is_model_config(data) or (named_config and not is_inspection(data)):
        return Deployment(checkpoint=reference, name=path.name)
    return parse_saved_json(data, reference)


def refuse_elsewhere(described: Deployment, reference: str) -> None:
    """Refuse what a container or script names by a path that this machine does not have.

    Raises:
        UnreachableError: so it is; the way out is in it.
    """
    place = described.checkpoint
    if reference.endswith(".toml") or place == reference or not place.startswith(("/", ".", "~")):
        return
    if not is_there(Path(place).expanduser()):
        raise UnreachableError(
            f"no checkpoint at `{place[:200]}`, where {reference[:200]} has it",
            hint="name it as it lies here: `sparkproof prove ... --checkpoint PATH`",
        )


def _check_words(words: Sequence[str]) -> None:
    if len(words) > MAX_ARGS:
        raise UsageError(
            f"{len(words)} words for vLLM, more than the {MAX_ARGS} that are read",
            hint="give what follows `vllm serve MODEL`, and no more",
        )
    refuse_config_file(words)


def _own_toml(reference: str) -> str:
    """Of a folder that is no checkpoint and holds a deployment, that deployment."""
    toml, config = (Path(reference) / name for name in ("deployment.toml", "config.json"))
    return str(toml) if is_there(toml) and not is_there(config) else reference


def package_versions(pairs: Sequence[str]) -> dict[str, str]:
    """``NAME=VERSION`` or ``NAME==VERSION``, as the command line has them.

    Raises:
        UsageError: one is neither.
    """
    found = {}
    for pair in pairs:
        name, equals, version = pair.partition("=")
        if not equals or not _PACKAGE.fullmatch(name) or not version.strip("="):
            raise UsageError(
                f"`{pair[:80]}` is no NAME=VERSION", hint="e.g. --package flashinfer-cubin=0.6.15"
            )
        found[name.lower().replace("_", "-").replace(".", "-")] = version.removeprefix("=")
    return found


def _variables(pairs: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            # Anything else that stands alone may be a secret, pasted without its name.
            shown = f"`{pair}`" if _VARIABLE.fullmatch(pair) else "an --env"
            raise UsageError(
                f"{shown} is no NAME=VALUE", hint="e.g. --env VLLM_USE_FLASHINFER_SAMPLER=0"
            )
        found[name] = value
    return found
