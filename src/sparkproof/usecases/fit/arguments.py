"""What a server's arguments say of memory, as its own release takes them where that can be told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sparkproof.adapters.files import is_there
from sparkproof.core.finding import Finding
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.serve_args import ServeArgs
from sparkproof.core.serve_line import ServeLine
from sparkproof.facts.serve_flags import serve_flags
from sparkproof.facts.surfaces import surface_of_release
from sparkproof.recipe.overrides import refuse_config_file
from sparkproof.recipe.vllm_args import parse_serve_args, take_serve_args
from sparkproof.release.line_judge import NOTHING_KNOWN, Surroundings
from sparkproof.release.serve_line import parse_serve_line
from sparkproof.usecases.fit.inputs import version_of_artifact
from sparkproof.usecases.prove.arguments import find_refused_arguments

_MODEL = "MODEL"
_LOCAL = ("tree", "wheel")


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments, typed.

    Attributes:
        basis: whose reading of them it is.
        refused: what the release's parser has against them.
        line: as the release's parser took it; None where our table stood in.
    """

    args: ServeArgs
    basis: str
    refused: tuple[Finding, ...] = ()
    line: ServeLine | None = None


def read_arguments(
    argv: Sequence[str],
    surface: ReleaseSurface | None,
    version: str,
    beside: Surroundings = NOTHING_KNOWN,
) -> Arguments:
    """Type an argument list by the release's own parser, or by our table where there is none.

    Args:
        version: for what is said where there is no surface.
        beside: the model and the box that they are for.

    Raises:
        UsageError: a value with which vLLM ends, or arguments that stand in another file.
    """
    refuse_config_file(argv)
    if surface is None or not surface.options:
        told = f"{serve_flags().checked:%Y-%m-%d}"
        whose = f"vLLM {version}" if version else "that artifact"
        basis = f"our own table of flags of {told}, the parser of {whose} not being at hand"
        return Arguments(parse_serve_args(argv), basis)
    line = parse_serve_line(surface, (_MODEL, *argv))
    basis = f"the parser of vLLM {surface.version}"
    refused = find_refused_arguments(surface, argv, beside=beside)
    return Arguments(take_serve_args(line), basis, refused, line)


def arguments_of(argv: Sequence[str], artifact: str) -> Arguments:
    """Type a deployment's arguments, by its artifact's own parser where that is at hand.

    Raises:
        UsageError: a value with which vLLM ends.
        UnreachableError, FormatError: the artifact is on this disk and can't be read.
    """
    version = version_of_artifact(artifact)
    return read_arguments(argv, find_parser(version, artifact), version)


def find_parser(version: str, artifact: str) -> ReleaseSurface | None:
    """The surface that types arguments: shipped, or read from an artifact on this disk.

    Raises:
        UnreachableError, FormatError: the artifact can't be read.
    """
    shipped = surface_of_release(version) if version else None
    if shipped is not None or not _on_disk(artifact):
        return shipped
    from sparkproof.usecases.release.command import find_surface  # noqa: PLC0415 - only artifacts pay

    return find_surface(artifact, offline=True)[0]


def _on_disk(artifact: str) -> bool:
    kind, colon, rest = artifact.partition(":")
    path = rest if colon and kind in _LOCAL else artifact
    return bool(path) and is_there(Path(path).expanduser())
