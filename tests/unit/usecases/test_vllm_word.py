"""A word that is no version leads to nobody's package."""

from __future__ import annotations

import pytest

from sparkproof.core.deployment import Deployment
from sparkproof.core.errors import UsageError
from sparkproof.usecases.prove.command import prove
from sparkproof.usecases.release.command import find_surface
from sparkproof.usecases.upgrade.command import upgrade
from sparkproof.usecases.upgrade.sides import shipped_surface
from sparkproof.usecases.vllm_word import refuse_bare_word

HERE = Deployment("absent", artifact="vllm==0.33.0")


@pytest.mark.parametrize("word", ["latest", "nightly", "main", "torch", "vllm-nightly"])
def test_a_bare_word_is_refused_with_what_to_write(word: str) -> None:
    with pytest.raises(UsageError, match="names no release of vLLM") as caught:
        refuse_bare_word(word)
    assert f"image:vllm/vllm-openai:{word}" in caught.value.hint


@pytest.mark.parametrize(
    "reference",
    [
        "vllm",
        "VLLM",
        "vllm==0.33.0",
        "vllm-fork==1.0",
        "wheel:vllm-nightly",
        "./latest",
        "image:vllm/vllm-openai:nightly",
        "container:latest",
        "https://h.example/vllm-1-x.whl",
    ],
)
def test_what_names_a_release_passes(reference: str) -> None:
    refuse_bare_word(reference)


def test_every_verb_about_a_release_refuses_it() -> None:
    with pytest.raises(UsageError, match="`nightly` names no release"):
        upgrade([HERE], "nightly", surfaces=shipped_surface, offline=True)
    with pytest.raises(UsageError, match="`latest` names no release"):
        prove(Deployment("absent", artifact="latest"))
    with pytest.raises(UsageError, match="`latest` names no release"):
        find_surface("latest")
