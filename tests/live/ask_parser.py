"""Run inside the environment of the live tier: does vLLM's own parser take these arguments?

Standard input is a JSON list of argument lists, standard output one boolean for each. A list is
taken where the parser and the configuration classes of attention and speculation take it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from typing import Any

PLACES = (
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.openai.cli_args",
)


def make_parser() -> Any:
    """The parser of ``vllm serve`` of whichever release is installed."""
    parser = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser()
    for place in PLACES:
        with contextlib.suppress(ImportError, AttributeError):
            return importlib.import_module(place).make_arg_parser(parser)
    raise SystemExit("no parser of vllm serve is known here")


def check_fields(parsed: Any) -> None:
    """What the engine does with two of the values before it loads anything."""
    config = importlib.import_module("vllm.config")
    if parsed.attention_backend:
        config.AttentionConfig(backend=parsed.attention_backend)
    fields = config.SpeculativeConfig.__dataclass_fields__
    unknown = [k for k in parsed.speculative_config or {} if k.replace("-", "_") not in fields]
    if unknown:
        raise ValueError(f"unexpected {unknown}")


def takes(parser: Any, words: list[str]) -> bool:
    """Whether one list is taken."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            check_fields(parser.parse_args(["m", *words]))
        except (SystemExit, KeyError, ValueError, TypeError):
            return False
    return True


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    known = make_parser()
    sys.stdout.write("\n" + json.dumps([takes(known, words) for words in asked]) + "\n")
