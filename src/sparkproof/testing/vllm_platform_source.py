"""The platform, attention and configuration files of the made-up vLLM in `vllm_source`."""

from __future__ import annotations

CUDA = """
    from vllm.platforms.interface import Platform, PlatformEnum
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    class CudaPlatformBase(Platform):
        _enum = PlatformEnum.CUDA

    def _get_backend_priorities(use_mla, device_capability, num_heads=None):
        if use_mla:
            return [AttentionBackendEnum.EAGER]
        if device_capability.major == 10:
            return [AttentionBackendEnum.LAZY, AttentionBackendEnum.EAGER]
        return [AttentionBackendEnum.EAGER, AttentionBackendEnum.LAZY]

    class Selector:
        def get_attn_backend_cls(cls, selected):
            if selected is not None:
                raise ValueError(f"Selected backend {selected} is not valid.")
            raise ValueError("No valid attention backend found.")
"""

ATTENTION_BASE = """
    class AttentionBackend:
        supported_kv_cache_dtypes = ["auto", "bfloat16"]

        @classmethod
        def supports_kv_cache_dtype(cls, kv_cache_dtype):
            return kv_cache_dtype in cls.supported_kv_cache_dtypes

        @classmethod
        def supports_compute_capability(cls, capability):
            return True

        @classmethod
        def supports_combination(cls, head_size: int, kv_cache_dtype) -> str | None:
            return None

        @classmethod
        def validate_configuration(cls, head_size, kv_cache_dtype, device_capability):
            invalid_reasons = []
            if head_size % 8 != 0:
                invalid_reasons.append("head_size not supported")
            if not cls.supports_kv_cache_dtype(kv_cache_dtype):
                invalid_reasons.append("kv_cache_dtype not supported")
            if not cls.supports_compute_capability(device_capability):
                invalid_reasons.append("compute capability not supported")
            combination = cls.supports_combination(head_size, kv_cache_dtype)
            if combination is not None:
                invalid_reasons.append(combination)
            return invalid_reasons
"""

ATTENTION_BACKENDS = """
    from vllm.v1.attention.backend import AttentionBackend

    class EagerBackend(AttentionBackend):
        @classmethod
        def supports_combination(cls, head_size: int, kv_cache_dtype) -> str | None:
            if head_size > 256:
                return "heads are too wide"
            return None
"""

LAZY_BACKEND = """
    from flashinfer import decode
    from vllm.platforms.interface import DeviceCapability
    from vllm.v1.attention.backend import AttentionBackend

    class LazyBackend(AttentionBackend):
        supported_kv_cache_dtypes = ["auto", "bfloat16", "fp8", "fp8_e4m3"]

        @classmethod
        def supports_compute_capability(cls, capability):
            return capability >= DeviceCapability(8, 0) and capability <= DeviceCapability(12, 1)
"""

INTERFACE = """
    from enum import Enum
    from typing import NamedTuple

    class PlatformEnum(Enum):
        CUDA = 1
        ROCM = 2

    class DeviceCapability(NamedTuple):
        major: int
        minor: int

    class Platform:
        pass
"""

KERNEL_CONFIG = """
    from typing import Literal
    from pydantic import field_validator
    from vllm.config.utils import config

    MoEBackend = Literal["auto", "rocket", "sled", "ladder", "hidden", "crawl"]
    LinearBackend = Literal["auto", "rocket", "ladder", "float"]

    @config
    class KernelConfig:
        moe_backend: MoEBackend = "auto"
        linear_backend: LinearBackend = "auto"

        @field_validator("moe_backend", mode="before")
        def _normalise(cls, value):
            return value.lower().replace("-", "_")
"""

ENVS = """
    from typing import TYPE_CHECKING

    if TYPE_CHECKING:
        VLLM_BATCH_INVARIANT: bool = False
        VLLM_LATE_ROCKET: bool = False
        VLLM_DISABLED_KERNELS: list[str] = []

    environment_variables = {
        "VLLM_BATCH_INVARIANT": lambda: False,
        "VLLM_LATE_ROCKET": lambda: False,
        "VLLM_DISABLED_KERNELS": lambda: [],
        "VLLM_UNRELATED": lambda: 1,
    }
"""

METADATA = """\
    Metadata-Version: 2.4
    Name: vllm
    Version: 9.9.9
    Requires-Dist: torch==9.0
    Requires-Dist: flashinfer-python==9.1; platform_machine == "aarch64"
    Requires-Dist: flashinfer-cubin==9.1; platform_machine == "x86_64"
    Requires-Dist: b12x==9.2; extra == "b12x"

    text
"""

CUSTOM_OPS = """
    import torch

    def supports_fp4(capability: int) -> bool:
        return torch.ops._C.supports_fp4(capability)
"""

NVFP4_KERNELS = """
    from vllm import _custom_ops as ops
    from vllm.platforms import current_platform
    from vllm.utils.flashinfer import has_flashinfer

    def fp4_supported() -> bool:
        capability = current_platform.get_device_capability()
        return ops.supports_fp4(-1 if capability is None else capability.to_int())

    class RocketNvFp4LinearKernel:
        @classmethod
        def is_supported(cls, compute_capability=None):
            if fp4_supported() and current_platform.has_device_capability(100) and has_flashinfer():
                return True, None
            return False, "rocket needs 10.0 and FlashInfer"

    class SledNvFp4LinearKernel:
        @classmethod
        def is_supported(cls, compute_capability=None):
            if fp4_supported():
                return True, None
            return False, "the operator says no"

    class LadderNvFp4LinearKernel:
        @classmethod
        def is_supported(cls, compute_capability=None):
            return True, None
"""
