"""A leaf that held or failed, in words."""

from __future__ import annotations

import pytest

from sparkproof.core.condition import DeviceTest, EnvTest, Gate, Setting
from sparkproof.selection.walk import name_gates
from sparkproof.selection.words import say


@pytest.mark.parametrize(
    ("leaf", "held", "failed"),
    [
        (DeviceTest("family", 100), "capability is 10.x", "capability is not 10.x"),
        (DeviceTest("==", 90), "capability is 9.0", "capability is not 9.0"),
        (DeviceTest(">=", 120), "capability >= 12.0", "capability < 12.0"),
        (DeviceTest("<", 110), "capability < 11.0", "capability >= 11.0"),
        (DeviceTest("minor", 1), "capability is x.1", "capability is not x.1"),
        (EnvTest("VLLM_X"), "VLLM_X is set", "VLLM_X is not set"),
        (EnvTest("VLLM_X", "set"), "VLLM_X is set", "VLLM_X is not set"),
        (EnvTest("VLLM_X", "==", "a"), "VLLM_X is `a`", "VLLM_X is not `a`"),
        (Setting("moe.has_bias"), "moe.has_bias is on", "moe.has_bias is not on"),
        (Setting("key", "==", None), "key is None", "key is not None"),
        (Setting("n", "<=", 16), "n <= 16", "n > 16"),
        (
            Setting("kv", "startswith", "fp8"),
            "kv starts with `fp8`",
            "kv does not start with `fp8`",
        ),
        (Gate("op:x"), "op:x", "not op:x"),
        (Setting("(a.b - c[0])", "<", 0), "a.b < c[0]", "a.b >= c[0]"),
        (Setting("(a - b)", "==", 0), "a is b", "a is not b"),
    ],
)
def test_say(leaf: DeviceTest | EnvTest | Setting | Gate, held: str, failed: str) -> None:
    assert say(leaf, held=True) == held
    assert say(leaf, held=False) == failed


def test_a_question_to_the_outside_is_named_by_its_function() -> None:
    told = name_gates(("call:has_nvidia_artifactory:requests.get(x).status_code == 200",))
    assert told.startswith("depends on has_nvidia_artifactory(): whether NVIDIA's store")
    unknown = name_gates(("call:Sled.is_new:dogs.count() == 2",))
    assert unknown == "depends on Sled.is_new(): `dogs.count() == 2`"
    assert name_gates(("call:b12x.is_supported()",)) == "depends on call:b12x.is_supported()"


def test_what_a_config_does_not_declare_is_named_once_and_in_words() -> None:
    told = name_gates(("setting:head_size == 64", "setting:(head_size % 8) == 0", "tool:nvcc"))
    assert told == "depends on the size of a head, which the config does not declare, tool:nvcc"
    assert name_gates(("setting:block_size == 16",)) == "depends on setting:block_size == 16"
