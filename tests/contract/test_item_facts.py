"""What is taken in whole and how long it is, probed in the releases it was read from."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkproof.facts.item_book import item_book

pytestmark = pytest.mark.artifact
MODEL = "vllm/model_executor/models/gemma4_mm.py"
CONVERTOR = "vllm/transformers_utils/model_arch_config_convertor.py"


@pytest.mark.parametrize("version", ["0.20.0", "0.33.0"])
def test_the_release_has_the_check_and_these_numbers(
    real_wheel: Callable[..., Path], version: str
) -> None:
    with zipfile.ZipFile(real_wheel(f"vllm=={version}")) as wheel:
        manager = wheel.read("vllm/v1/core/encoder_cache_manager.py").decode()
        platform = wheel.read("vllm/platforms/cuda.py").decode()
        model, convertor = (wheel.read(path).decode() for path in (MODEL, CONVERTOR))
    assert "max_tokens_per_mm_item > scheduler_config.max_num_batched_tokens" in manager
    assert "model_config.is_mm_prefix_lm" in platform
    assert "scheduler_config.disable_chunked_mm_input = True" in platform
    listed = re.search(r"MM_PREFIX_LM_MODELS = \(([^)]*)\)", convertor)
    assert listed is not None
    plain = [item for item in item_book().whole if not item.field and item.holds_in(version)]
    assert set(re.findall(r'"(\w+)"', listed[1])) == {n for i in plain for n in i.model_types}
    (video,) = [item for item in item_book().item if item.frames]
    assert f"_VIDEO_MAX_FRAMES = {video.frames} " in model
    assert f"_VIDEO_MAX_SOFT_TOKENS = {video.frame_tokens - 8} " in model
    assert "(_VIDEO_MAX_SOFT_TOKENS + 2 + 6)" in model
