"""What --quantization does beside a checkpoint's own method."""

from __future__ import annotations

import pytest

from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.release_surface import Option, ReleaseSurface, Source
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.quantization_flag import check_quantization_flag

HERE = Source("arg_utils.py", 1)
KNOWN = ("awq", "auto_awq", "fp8", "modelopt", "humming", "inc", "mxfp4", "gpt_oss_mxfp4")
SURFACE = ReleaseSurface("1", HERE, options=(Option("--quantization", KNOWN, None, HERE),))


@pytest.mark.parametrize(
    ("wanted", "method", "algo", "verdict"),
    [
        ("", "fp8", "", None),
        ("fp8", "fp8", "", None),
        ("fp8", "", "", Verdict.INCONCLUSIVE),
        ("fp4", "", "", Verdict.FAIL),
        ("fp8", "awq", "", Verdict.FAIL),
        ("auto_awq", "awq", "", Verdict.INCONCLUSIVE),
        ("gpt_oss_mxfp4", "mxfp4", "", Verdict.INCONCLUSIVE),
        ("fp4", "modelopt", "NVFP4", Verdict.PASS),
        ("fp8", "modelopt", "W4A16_AWQ", Verdict.FAIL),
        ("fp4", "auto-round", "", Verdict.PASS),
        ("humming", "auto-round", "", Verdict.INCONCLUSIVE),
    ],
)
def test_the_flag_is_repeated_replaced_refused_or_left_open(
    wanted: str, method: str, algo: str, verdict: Verdict | None
) -> None:
    profile = CheckpointProfile("m", (), "x", method, (), quant_algo=algo)
    found = [item.verdict for item in check_quantization_flag(wanted, profile, SURFACE)]
    assert found == ([verdict] if verdict else [])
