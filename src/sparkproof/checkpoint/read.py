"""From a checkpoint's files to its profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sparkproof.checkpoint.layer_pattern import recurrent_pattern
from sparkproof.checkpoint.profile import profile_checkpoint
from sparkproof.checkpoint.state_layout import read_state_layout, text_table
from sparkproof.checkpoint.stored_units import sort_tensors
from sparkproof.checkpoint.tensors import read_stored
from sparkproof.checkpoint.weight_only import as_stored
from sparkproof.core.errors import FormatError
from sparkproof.core.observations.checkpoint_profile import CheckpointProfile, Note
from sparkproof.core.observations.state_layout import StateLayout
from sparkproof.core.observations.stored_tensors import StoredTensors
from sparkproof.core.unknown import Unknown
from sparkproof.formats.hf_config import ModelConfig, parse_config, parse_hf_quant_config
from sparkproof.formats.safetensors import ShardHeader

CONFIG = "config.json"
QUANT_CONFIG = "hf_quant_config.json"
WANTED = (CONFIG, QUANT_CONFIG)
"""The files `read_checkpoint` looks at; a caller need read no other."""
_STATE_TOPIC = "fit"
_UNTIL_STORED = frozenset({"shards-borrowed"})
"""Kinds of notes that the tensors themselves answer."""


def read_checkpoint(
    files: Mapping[str, bytes],
    name: str,
    headers: Sequence[ShardHeader] = (),
    where: str = CONFIG,
) -> CheckpointProfile:
    """Profile a checkpoint from its metadata files, and from its tensors where they are at hand.

    Args:
        files: file name to content; those in `WANTED` are read, others are left alone.
        name: what the user calls the checkpoint.
        headers: of its shards; with none the profile says what is declared only.
        where: file that the config was made from.

    Raises:
        FormatError: neither file is there, or one is damaged; it names the field.
    """
    quant = parse_hf_quant_config(files[QUANT_CONFIG]) if QUANT_CONFIG in files else None
    if CONFIG in files:
        config = parse_config(files[CONFIG], where)
        if quant is None and not _says_anything(config):
            raise FormatError(
                "neither an architecture nor a model type, and no quantization: no model's config",
                where=where if name == where else f"{name}: {where}",
                hint="name a checkpoint folder or its config.json",
            )
    elif quant is not None:
        config = ModelConfig(where=QUANT_CONFIG)
    else:
        raise FormatError(
            f"no {CONFIG}", where=name, hint="name a checkpoint folder or its config.json"
        )
    found = sort_tensors(headers)
    config = as_stored(_with_pattern(config, files), found)
    profile = profile_checkpoint(config, quant, name)
    state, odd = _state(files, config, name)
    stored = read_stored(config, quant, found, len(headers), state) if headers else None
    return msgspec.structs.replace(
        profile,
        state=state,
        stored=stored,
        max_position=state.max_position if state else 0,
        state_unknowns=odd,
        unknowns=(*profile.unknowns, *(stored.unknowns if stored else ())),
        notes=_with_stored(profile.notes, stored),
    )


def _with_stored(notes: tuple[Note, ...], stored: StoredTensors | None) -> tuple[Note, ...]:
    """All notes, without the doubts that only last until the tensors are seen."""
    if stored is None:
        return notes
    return (*(note for note in notes if note.kind not in _UNTIL_STORED), *stored.notes)


def _says_anything(config: ModelConfig) -> bool:
    named = config.architectures or config.model_type or config.quantization is not None
    return bool(named or config.num_layers or config.layer_types)


def _with_pattern(config: ModelConfig, files: Mapping[str, bytes]) -> ModelConfig:
    """With the kind of every layer, where a key of its own family tells which are recurrent."""
    if config.layer_types or config.hybrid_pattern or CONFIG not in files:
        return config
    text = text_table(files[CONFIG], CONFIG)
    model_type = text.text("model_type") or config.model_type
    names, feedless = recurrent_pattern(text, model_type, config.num_layers)
    return msgspec.structs.replace(config, layer_types=names, feedless=feedless)


def _state(
    files: Mapping[str, bytes], config: ModelConfig, name: str
) -> tuple[StateLayout | None, tuple[Unknown, ...]]:
    """What each layer keeps; a config that does not tell is no reason to say nothing else."""
    if config.bare_quantization or CONFIG not in files or not config.architectures:
        return None, ()
    try:
        state = read_state_layout(files[CONFIG], quantization=files.get(QUANT_CONFIG), name=name)
    except FormatError as error:
        return None, (Unknown.from_error(error, _STATE_TOPIC),)
    return state, ()
