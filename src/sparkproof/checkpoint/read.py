"""From a checkpoint's files to its profile."""

from __future__ import annotations

from collections.abc import Mapping

from sparkproof.checkpoint.profile import profile_checkpoint
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.formats.hf_config import ModelConfig, parse_config, parse_hf_quant_config

CONFIG = "config.json"
QUANT_CONFIG = "hf_quant_config.json"
WANTED = (CONFIG, QUANT_CONFIG)
"""The files `read_checkpoint` looks at; a caller need read no other."""


def read_checkpoint(files: Mapping[str, bytes], name: str) -> CheckpointProfile:
    """Profile a checkpoint from its metadata files.

    Args:
        files: file name to content; those in `WANTED` are read, others are left alone.
        name: what the user calls the checkpoint.

    Raises:
        FormatError: neither file is there, or one is damaged; it names the field.
    """
    quant = parse_hf_quant_config(files[QUANT_CONFIG]) if QUANT_CONFIG in files else None
    if CONFIG in files:
        return profile_checkpoint(parse_config(files[CONFIG]), quant, name)
    if quant is None:
        raise FormatError(
            f"no {CONFIG}", where=name, hint="name a checkpoint folder or its config.json"
        )
    return profile_checkpoint(ModelConfig(where=QUANT_CONFIG), quant, name)
