"""A container that some document describes, into the deployment it runs."""

from __future__ import annotations

import msgspec

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import FormatError
from sparkproof.recipe.launch_script import find_launch, settled_variables
from sparkproof.recipe.mounts import host_path
from sparkproof.recipe.serve_command import serve_words, shell_text, split_model
from sparkproof.recipe.shell_text import unreadable


class Container(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is started.

    Attributes:
        image: as a reference, without ``image:``.
        words: entrypoint and command in one.
        mounts: its folders to those of the host.
    """

    name: str
    image: str
    words: tuple[str, ...]
    environment: dict[str, str]
    mounts: dict[str, str] = {}


def container_deployment(container: Container, where: str) -> Deployment:
    """The deployment that a container runs.

    Raises:
        FormatError: its command is no ``vllm serve`` or API server, or cannot be read.
    """
    words, environment = container.words, container.environment
    text = shell_text(words)
    if text is not None:
        launch = find_launch(text, environment, where)
        words, environment = launch.words, launch.environment
    rest = serve_words(words)
    if rest is None:
        raise FormatError(
            "the container's command is no `vllm serve MODEL`",
            where=where,
            hint="write a deployment TOML by hand: `sparkproof explain deployment`",
        )
    model, arguments = split_model(rest, where)
    variables = settled_variables(environment)
    hidden = unreadable((model, *arguments, *variables.values()))
    if hidden:
        raise FormatError(
            f"`{hidden}` is known only inside the container",
            where=where,
            hint="write a deployment TOML by hand: `sparkproof explain deployment`",
        )
    return Deployment(
        checkpoint=host_path(model, container.mounts),
        artifact=f"image:{container.image}" if container.image else "",
        name=container.name,
        args=arguments,
        env=variables,
    )
