"""What ``--quantization`` does to a checkpoint that may say itself how it is quantized. Pure.

Read in ``_verify_quantization`` of vllm/config/model.py and the ``override_quantization_method`` of
each method, 0.20.0, 0.26.0 and 0.33.0, on 2026-11-30: some methods put their own name in the flag's
place, whatever it says, unknown names included; for the others the two have to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.observations.checkpoint_profile import CheckpointProfile
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.proof import LayerProof
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.prove.roles import QUANTIZATION, QUANTIZATION_FLAG

_MODELOPT, _AUTO_ROUND = "modelopt", "auto-round"
_MODELOPT_NAMED = ("FP8", "MIXED_PRECISION")
_MODELOPT_HELD = ("FP4", "MXFP8")
_BEHIND = {_AUTO_ROUND: "inc"}
"""Names in checkpoints that a release's list has under another one."""
_WHILE_LOADING = "it quantizes the weights while they are loaded, and the picks follow from that"
_ASKED_FIRST = ("humming", "moe_wna16", "gguf", "marlin")
"""Names that take a checkpoint over where they are asked for."""


def check_quantization(profile: CheckpointProfile, surface: ReleaseSurface) -> Iterator[LayerProof]:
    """A row where the release has no method of the name that the checkpoint declares."""
    declared = profile.quant_method
    option = surface.option("--quantization")
    known = option.choices if option is not None else ()
    name = _BEHIND.get(declared, declared)
    if not declared or not known or any(_same_method(c, name) or _related(c, name) for c in known):
        return
    reason = f"vLLM refuses: this release has no quantization method `{declared}`"
    yield _told(QUANTIZATION, Verdict.FAIL, reason)


def check_quantization_flag(
    wanted: str, profile: CheckpointProfile, surface: ReleaseSurface
) -> Iterator[LayerProof]:
    """The flag's own part of a proof; nothing where it only repeats the checkpoint."""
    declared = profile.quant_method
    if not wanted or _same_method(wanted, declared):
        return
    asked_first = wanted.lower() in _ASKED_FIRST
    if not asked_first and _puts_its_own(profile):
        reason = (
            f"`--quantization {wanted}` has no effect: vLLM takes {declared} from the checkpoint"
        )
        yield _flag(Verdict.PASS, reason, warning=True)
        return
    option = surface.option("--quantization")
    known = option.choices if option is not None else ()
    if known and wanted.lower() not in known:
        yield _flag(Verdict.FAIL, f"vLLM refuses: unknown quantization method `{wanted}`")
    elif known and declared and not asked_first and not _related(wanted, declared):
        reason = f"vLLM refuses: the checkpoint is {declared}, which is not `{wanted}`"
        yield _flag(Verdict.FAIL, reason)
    else:
        seen = f"the checkpoint declares {declared}" if declared else _WHILE_LOADING
        reason = f"`--quantization {wanted}` is not followed here: {seen}"
        yield _flag(Verdict.INCONCLUSIVE, reason)


def quantized_while_loading(
    wanted: str, profile: CheckpointProfile, surface: ReleaseSurface
) -> str:
    """Why the picks of a checkpoint that declares no format are not its own; "" where they are."""
    if profile.quant_method:
        return ""
    rows = check_quantization_flag(wanted, profile, surface)
    return next((row.reason for row in rows if row.verdict is Verdict.INCONCLUSIVE), "")


def _puts_its_own(profile: CheckpointProfile) -> bool:
    """Whether the checkpoint's method replaces what the flag says."""
    method, algo = profile.quant_method.lower(), profile.quant_algo.upper()
    if method.startswith(_MODELOPT):
        return algo in _MODELOPT_NAMED or any(part in algo for part in _MODELOPT_HELD)
    return method == _AUTO_ROUND


def _same_method(wanted: str, declared: str) -> bool:
    """``modelopt_fp4`` speaks of ``modelopt``, and so do hyphens for underscores."""
    one, other = _plain(wanted), _plain(declared)
    return bool(other) and (one.startswith(other) or other.startswith(one))


def _related(wanted: str, declared: str) -> bool:
    """``auto_awq`` of ``awq``, ``gpt_oss_mxfp4`` of ``mxfp4``: more than names decides."""
    one, other = _plain(wanted), _plain(declared)
    return one.endswith(other) or other.endswith(one)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _flag(verdict: Verdict, reason: str, *, warning: bool = False) -> LayerProof:
    return _told(QUANTIZATION_FLAG, verdict, reason, warning=warning)


def _told(subject: str, verdict: Verdict, reason: str, *, warning: bool = False) -> LayerProof:
    return LayerProof(
        subject=subject,
        scheme="",
        verdict=verdict,
        reason=reason,
        deliveries=(),
        warning=warning,
    )
