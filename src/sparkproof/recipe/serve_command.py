"""The words of a command into the model and the arguments that vLLM gets."""

from __future__ import annotations

from collections.abc import Sequence

from sparkproof.core.errors import FormatError

_HINT = "write a deployment TOML by hand: `sparkproof explain deployment`"
_SHELLS = ("sh", "bash", "dash", "zsh")
_SERVER = "vllm.entrypoints.openai.api_server"
_MAIN = "vllm.entrypoints.cli.main"


def shell_text(words: Sequence[str]) -> str | None:
    """The text of ``sh -c TEXT``, where the words hold one; None where they don't."""
    for position, word in enumerate(words[:-1]):
        if not word.startswith("-") or word.startswith("--") or not word.endswith("c"):
            continue
        before = [other for other in words[:position] if not other.startswith("-")]
        if before and before[-1].rpartition("/")[2] in _SHELLS:
            return next((w for w in words[position + 1 :] if not w.startswith("-")), None)
    return None


def serve_words(words: Sequence[str]) -> tuple[str, ...] | None:
    """What follows ``vllm serve`` or the API server's module; None where neither is there."""
    for position, word in enumerate(words):
        before = words[position - 1] if position else ""
        if word == "serve" and (before.rpartition("/")[2] == "vllm" or before == _MAIN):
            return tuple(words[position + 1 :])
        if word == _SERVER or word.endswith("api_server.py"):
            return tuple(words[position + 1 :])
    return None


def split_model(rest: Sequence[str], where: str) -> tuple[str, tuple[str, ...]]:
    """Model and the arguments beside it.

    Raises:
        FormatError: no model among them, or arguments that stand in another file.
    """
    for word in rest:
        if word == "--config" or word.startswith("--config="):
            raise FormatError(
                "`--config` names a file with more arguments, which is not read",
                where=where,
                hint="write them out, as `vllm serve MODEL --flag …` takes them",
            )
    for position, word in enumerate(rest):
        if word == "--model" and position + 1 < len(rest):
            return rest[position + 1], (*rest[:position], *rest[position + 2 :])
        if word.startswith("--model="):
            return word.partition("=")[2], (*rest[:position], *rest[position + 1 :])
    if rest and not rest[0].startswith("-"):
        return rest[0], tuple(rest[1:])
    raise FormatError("no model follows `vllm serve`", where=where, hint=_HINT)
