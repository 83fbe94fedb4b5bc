"""What an argument list takes from elsewhere than the checkpoint: other files, other configs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sparkproof.core.errors import UsageError

OVERRIDES = "--hf-overrides"
_LENGTH = "--max-model-len"
_POSITIONS = ("rope_", "max_position_embeddings", "max_model_len", "original_max")
"""Keys of a config that say how far positions reach: no kernel hangs on them."""


def refuse_config_file(words: Sequence[str]) -> None:
    """Refuse arguments that stand in another file.

    Raises:
        UsageError: there are some.
    """
    if _value(words, "--config") is not None:
        raise UsageError(
            "`--config` names a file with more arguments for vLLM, which is not read",
            hint="write them out, as `vllm serve MODEL --flag …` takes them",
        )


def changed_keys(overrides: str) -> tuple[str, ...]:
    """What ``--hf-overrides`` changes beside the reach of positions; itself, if it is no object."""
    if not overrides:
        return ()
    try:
        found = json.loads(overrides)
    except (ValueError, RecursionError):
        found = None
    keys = tuple(found) if isinstance(found, dict) else (overrides[:60],)
    return tuple(key for key in keys if not key.startswith(_POSITIONS))


def changed_sizes(words: Sequence[str]) -> tuple[str, ...]:
    """What ``--hf-overrides`` changes of what memory hangs on.

    How far positions reach is the context length, unless that is stated.
    """
    overrides = _value(words, OVERRIDES) or ""
    keys = changed_keys(overrides)
    if keys or not overrides or _value(words, _LENGTH) is not None:
        return keys
    return tuple(json.loads(overrides))


def _value(words: Sequence[str], flag: str) -> str | None:
    """The word of a flag, "" where it has none; None where the flag is not given."""
    found = None
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.replace("_", "-").partition(".")[0] == flag:
            following = words[index + 1] if index + 1 < len(words) else ""
            found = value if equals else following
    return found
