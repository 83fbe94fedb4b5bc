"""A small vLLM with the names of the real one, and device code to go with them.

`vllm_source` has the shapes of a release; here its made-up classes get the names that the facts
know, and a library holds one kernel of each family that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sparkproof.facts.kernel_family import kernel_families
from sparkproof.testing.artifacts import wheel_filename, zip_bytes
from sparkproof.testing.device_code import container, library
from sparkproof.testing.vllm_source import source_tree

LIBRARY = "vllm/_C.abi3.so"
CUDA_13: dict[str, tuple[str, ...]] = {
    "nvfp4-dense": ("sm_120f",),
    "nvfp4-moe": ("sm_120f",),
    "nvfp4-quantize": ("sm_120f",),
    "marlin-dense-nvfp4": ("sm_120f",),
    "marlin-moe-nvfp4": ("sm_120f",),
    "marlin-repack": ("compute_80",),
    "moe-routing": ("sm_120",),
    "core-ops": ("sm_120",),
    "flash-attention-2": ("sm_80", "compute_80"),
}
"""Families and architectures as a wheel of the CUDA 13 line has them."""
CUDA_12: dict[str, tuple[str, ...]] = {
    name: tuple(arch.replace("sm_120f", "sm_120a") for arch in archs)
    for name, archs in CUDA_13.items()
}
"""The same with architecture-specific code, which serves 12.0 alone."""
_REAL_NAMES = {
    "RocketNvFp4LinearKernel": "FlashInferCutlassNvFp4LinearKernel",
    "SledNvFp4LinearKernel": "CutlassNvFp4LinearKernel",
    "LadderNvFp4LinearKernel": "MarlinNvFp4LinearKernel",
    "RocketExperts": "FlashInferExperts",
    "SledSmall": "CutlassExpertsFp4",
    "LadderExperts": "MarlinExperts",
    "EagerBackend": "FlashAttentionBackend",
    "LazyBackend": "FlashInferBackend",
    "OtherSled": "Qwen3_5MoeForConditionalGeneration",
    "supports_fp4": "cutlass_scaled_mm_supports_fp4",
}


def small_vllm(
    code: Mapping[str, tuple[str, ...]] | None = None, *, version: str = "0.33.0"
) -> dict[str, bytes]:
    """Its files, by path.

    Args:
        code: kernel families with their architectures; `CUDA_13` if None.
    """
    files = {}
    for path, data in source_tree().items():
        text = data.decode()
        for made_up, real in _REAL_NAMES.items():
            text = text.replace(made_up, real)
        files[path.replace("9.9.9", version)] = text.replace("9.9.9", version).encode()
    return {**files, LIBRARY: small_library(CUDA_13 if code is None else code)}


def small_library(code: Mapping[str, tuple[str, ...]]) -> bytes:
    """A library with one kernel a family: the first example of the family's facts."""
    examples = {family.id: family.examples[0] for family in kernel_families() if family.examples}
    return library(container([examples[name]], archs) for name, archs in code.items())


def write_small_wheel(
    folder: Path,
    code: Mapping[str, tuple[str, ...]] | None = None,
    *,
    version: str = "0.33.0",
    tag: str = "cp38-abi3-manylinux_2_28_aarch64",
) -> Path:
    """Write it as a wheel into `folder`; returns its path."""
    path = folder / wheel_filename("vllm", version, tag=tag)
    files = small_vllm(code, version=version)
    record = "".join(f"{name},,{len(data)}\n" for name, data in files.items())
    files[f"vllm-{version}.dist-info/RECORD"] = record.encode()
    path.write_bytes(zip_bytes(files))
    return path
