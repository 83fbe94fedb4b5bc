"""What flags take from elsewhere than the checkpoint."""

import pytest

from sparkproof.core.errors import UsageError
from sparkproof.recipe.overrides import changed_keys, changed_sizes, refuse_config_file


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("--max-num-seqs", "4"), ()),
        (("--hf-overrides", '{"num_hidden_layers": 9}'), ("num_hidden_layers",)),
        (("--hf_overrides={}",), ()),
        (
            ("--hf-overrides", '{"max_position_embeddings": 262144}'),
            ("max_position_embeddings",),
        ),
        (("--hf-overrides", '{"rope_scaling": {}}', "--max-model-len", "8192"), ()),
        (("--hf-overrides", "[1]"), ("[1]",)),
        (("--hf-overrides.num_hidden_layers", "9"), ("9",)),
    ],
)
def test_sizes_hang_on_every_key_but_positions_of_a_stated_length(
    words: tuple[str, ...], keys: tuple[str, ...]
) -> None:
    assert changed_sizes(words) == keys


def test_no_kernel_hangs_on_positions() -> None:
    assert changed_keys('{"rope_theta": 1, "head_dim": 64}') == ("head_dim",)
    assert changed_keys("") == ()


@pytest.mark.parametrize("words", [("--config", "cfg.yaml"), ("--config=cfg.yaml",)])
def test_arguments_in_another_file_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="not read"):
        refuse_config_file(words)
    refuse_config_file(("--config-format", "hf"))
