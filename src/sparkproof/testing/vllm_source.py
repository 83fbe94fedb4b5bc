"""A vLLM small enough to read at a glance, with the shapes that real releases have.

Written for tests, which change single files: its backends, orders and rules are made up.
"""

from __future__ import annotations

from textwrap import dedent

from sparkproof.testing import vllm_platform_source as platform
from sparkproof.testing.vllm_server_source import SERVER_FILES

_ORACLE = """
    from enum import Enum
    import vllm.model_executor.layers.fused_moe.modular_kernel as mk
    from vllm import envs
    from vllm.logger import init_logger
    from vllm.platforms import current_platform
    from vllm.ranking import prefer_ladder

    logger = init_logger(__name__)

    class NvFp4MoeBackend(Enum):
        ROCKET = "ROCKET"
        SLED = "SLED"
        LADDER = "LADDER"
        CRAWL = "CRAWL"
        HIDDEN = "HIDDEN"
        SLEIGH = SLED

    def backend_to_kernel_cls(backend):
        if backend == NvFp4MoeBackend.ROCKET:
            from vllm.model_executor.layers.fused_moe.experts.fast import RocketExperts
            return [RocketExperts]
        elif backend == NvFp4MoeBackend.SLED:
            from vllm.model_executor.layers.fused_moe.experts.fast import SledBig, SledSmall
            return [SledBig, SledSmall]
        elif backend == NvFp4MoeBackend.LADDER:
            from vllm.model_executor.layers.fused_moe.experts.slow import LadderExperts
            return [LadderExperts]
        elif backend == NvFp4MoeBackend.CRAWL:
            from vllm.model_executor.layers.fused_moe.experts.slow import CrawlExperts
            return [CrawlExperts]
        elif backend == NvFp4MoeBackend.HIDDEN:
            from vllm.model_executor.layers.fused_moe.experts.slow import CrawlExperts
            return [CrawlExperts]
        raise ValueError(f"no class for {backend.value}")

    def map_nvfp4_backend(runner_backend):
        mapping = {
            "rocket": NvFp4MoeBackend.ROCKET,
            "sled": NvFp4MoeBackend.SLED,
            "ladder": NvFp4MoeBackend.LADDER,
            "hidden": NvFp4MoeBackend.HIDDEN,
        }
        if backend := mapping.get(runner_backend):
            return backend
        raise ValueError(f"moe_backend='{runner_backend}' is none of {list(mapping.keys())}")

    def select_nvfp4_moe_backend(config: "FusedMoEConfig", weight_key, activation_key):
        AVAILABLE_BACKENDS = [
            NvFp4MoeBackend.ROCKET,
            NvFp4MoeBackend.SLED,
            NvFp4MoeBackend.LADDER,
            NvFp4MoeBackend.CRAWL,
        ]
        AVAILABLE_BACKENDS = prefer_ladder(AVAILABLE_BACKENDS)
        clamped = {NvFp4MoeBackend.LADDER}
        if config.swiglu_limit is not None:
            AVAILABLE_BACKENDS = [b for b in AVAILABLE_BACKENDS if b in clamped]

        def _move_to_back(backends, backend):
            backends.append(backends.pop(backends.index(backend)))

        if current_platform.is_device_capability_family(120) and envs.VLLM_LATE_ROCKET:
            _move_to_back(AVAILABLE_BACKENDS, NvFp4MoeBackend.ROCKET)

        def _return_or_raise(backend):
            for k_cls in backend_to_kernel_cls(backend):
                supported, reason = k_cls.is_supported_config(
                    k_cls, config, weight_key, activation_key
                )
                if supported:
                    return backend, k_cls
            raise ValueError(f"backend {backend.value} is out since {reason}.")

        if config.moe_backend != "auto":
            return _return_or_raise(map_nvfp4_backend(config.moe_backend))

        for backend in AVAILABLE_BACKENDS:
            for k_cls in backend_to_kernel_cls(backend):
                supported, reason = k_cls.is_supported_config(
                    k_cls, config, weight_key, activation_key
                )
                if supported:
                    logger.info_once("Using %s", backend.value)
                    return backend, k_cls
                logger.debug_once(reason)
        raise NotImplementedError("nothing fits.")
"""

_RANKING = """
    from vllm.platforms import current_platform

    _LIKED = frozenset({90})

    def prefer_ladder(items):
        capability = current_platform.get_device_capability()
        if capability is None or capability.to_int() not in _LIKED:
            return items
        items = items.copy()
        names = [item.name.lower() for item in items]
        first = next((i for i, name in enumerate(names) if "ladder" in name), None)
        if first is not None:
            items.insert(0, items.pop(first))
        return items
"""

_MODULAR = """
    class FusedMoEExperts:
        @staticmethod
        def is_supported_config(cls, moe_config, weight_key, activation_key):
            def why(text):
                return f"kernel does not support {text}"

            if not cls._supports_current_device():
                return False, why("this device")
            elif not cls._supports_activation(moe_config.activation):
                return False, why(f"{moe_config.activation}")
            elif not cls._supports_quant_scheme(weight_key, activation_key):
                return False, why(f"{weight_key} with {activation_key}")
            return True, None

        @staticmethod
        def _supports_activation(activation) -> bool:
            return activation in (MoEActivation.SILU, MoEActivation.GELU)

    from enum import Enum

    class MoEActivation(Enum):
        SILU = "silu"
        GELU = "gelu"
"""

_FAST = """
    import vllm.model_executor.layers.fused_moe.modular_kernel as mk
    from vllm.platforms import current_platform
    from vllm.quant_keys import kNvfp4Dynamic, kNvfp4Static
    from vllm.utils.flashinfer import has_flashinfer_rocket

    class RocketExperts(mk.FusedMoEExperts):
        @staticmethod
        def _supports_current_device() -> bool:
            p = current_platform
            return (
                p.is_cuda()
                and (p.is_device_capability_family(100) or p.is_device_capability_family(120))
                and has_flashinfer_rocket()
            )

        @staticmethod
        def _supports_quant_scheme(weight_key, activation_key) -> bool:
            return (weight_key, activation_key) == (kNvfp4Static, kNvfp4Dynamic)

    class SledBig(RocketExperts):
        @staticmethod
        def _supports_current_device() -> bool:
            return current_platform.is_device_capability((10, 3))

    class SledSmall(RocketExperts):
        @staticmethod
        def _supports_current_device() -> bool:
            return current_platform.has_device_capability(120)
"""

_SLOW = """
    import vllm.model_executor.layers.fused_moe.modular_kernel as mk
    from vllm.quant_keys import kNvfp4Static

    class LadderExperts(mk.FusedMoEExperts):
        @staticmethod
        def _supports_current_device() -> bool:
            return True

        @staticmethod
        def _supports_quant_scheme(weight_key, activation_key) -> bool:
            return weight_key == kNvfp4Static

    class CrawlExperts(LadderExperts):
        pass
"""

_FLASHINFER = """
    import functools
    import importlib.util
    import os
    import shutil

    import vllm.envs as envs

    def _nvcc():
        home = os.environ.get("CUDA_HOME")
        if not home:
            nvcc = shutil.which("nvcc")
            home = os.path.dirname(os.path.dirname(nvcc)) if nvcc else "/usr/local/cuda"
        return shutil.which(os.path.join(home, "bin", "nvcc"))

    def _get_submodule(name):
        try:
            return importlib.import_module(name)
        except (ImportError, ModuleNotFoundError):
            return None

    @functools.cache
    def has_flashinfer() -> bool:
        if importlib.util.find_spec("flashinfer") is None:
            return False
        if importlib.util.find_spec("flashinfer_cubin") is not None:
            return True
        return _nvcc() is not None and shutil.which("ninja") is not None

    @functools.cache
    def has_flashinfer_rocket() -> bool:
        if not has_flashinfer():
            return False
        for module_name, attr_name in [("flashinfer", "quantize"), ("flashinfer.moe", "rocket")]:
            mod = _get_submodule(module_name)
            if not mod or not hasattr(mod, attr_name):
                return False
        return True
"""

_LINEAR = """
    import vllm.envs as envs
    from vllm.logger import init_logger
    from vllm.model_executor.kernels.linear.nvfp4 import (
        LadderNvFp4LinearKernel,
        RocketNvFp4LinearKernel,
        SledNvFp4LinearKernel,
    )
    from vllm.platforms import PlatformEnum, current_platform

    logger = init_logger(__name__)

    _LINEAR_BACKEND_KERNEL_MAP: dict = {
        "rocket": {RocketNvFp4LinearKernel},
        "ladder": {LadderNvFp4LinearKernel},
        "float": set(),
    }

    _POSSIBLE_NVFP4_KERNELS: dict = {
        PlatformEnum.CUDA: [
            RocketNvFp4LinearKernel,
            SledNvFp4LinearKernel,
            LadderNvFp4LinearKernel,
        ],
        PlatformEnum.ROCM: [LadderNvFp4LinearKernel],
    }

    def _linear_backend():
        from vllm.config import get_current_vllm_config_or_none

        config = get_current_vllm_config_or_none()
        if config is None:
            return "auto"
        return config.kernel_config.linear_backend

    def _filtered(kernels):
        backend = _linear_backend()
        if backend == "auto":
            return kernels
        wanted = _LINEAR_BACKEND_KERNEL_MAP.get(backend, set())
        found = [kernel for kernel in kernels if kernel in wanted]
        if not found:
            raise ValueError(f"--linear-backend={backend} has no NVFP4 kernel.")
        return found

    def init_nvfp4_linear_kernel(use_a16: bool = False):
        force_kernel = None
        if envs.VLLM_BATCH_INVARIANT:
            force_kernel = SledNvFp4LinearKernel
        elif use_a16 and _linear_backend() == "auto":
            force_kernel = LadderNvFp4LinearKernel
        if force_kernel is not None:
            is_supported, reason = force_kernel.is_supported()
            if not is_supported:
                raise ValueError(f"forced {force_kernel.__name__} is out: {reason}")
            return force_kernel()
        possible = _filtered(list(_POSSIBLE_NVFP4_KERNELS.get(current_platform._enum, [])))
        failure_reasons = []
        for kernel_cls in possible:
            if kernel_cls.__name__ in envs.VLLM_DISABLED_KERNELS:
                failure_reasons.append(f"{kernel_cls.__name__} disabled")
                continue
            is_supported, reason = kernel_cls.is_supported()
            if not is_supported:
                failure_reasons.append(f"{kernel_cls.__name__}: {reason}")
                continue
            logger.info_once("Using %s", kernel_cls.__name__)
            return kernel_cls()
        raise ValueError("no kernel: " + "\\n".join(failure_reasons))
"""

_MOE = "vllm/model_executor/layers/fused_moe"
ORACLE = f"{_MOE}/oracle/nvfp4.py"
LINEAR = "vllm/model_executor/kernels/linear/__init__.py"
CUDA = "vllm/platforms/cuda.py"
FLASHINFER = "vllm/utils/flashinfer.py"
RANKING = "vllm/ranking.py"

_FILES = {
    "vllm/__init__.py": "",
    "vllm/config/__init__.py": "",
    "vllm/logger.py": "def init_logger(name):\n    return None\n",
    "vllm/envs.py": platform.ENVS,
    RANKING: _RANKING,
    "vllm/quant_keys.py": "kNvfp4Static = object()\nkNvfp4Dynamic = object()\n",
    "vllm/_custom_ops.py": platform.CUSTOM_OPS,
    "vllm/config/kernel.py": platform.KERNEL_CONFIG,
    "vllm/config/cache.py": """
        from typing import Literal
        from vllm.config.utils import config

        CacheDType = Literal["auto", "bfloat16", "fp8", "fp8_e4m3"]

        @config
        class CacheConfig:
            cache_dtype: CacheDType | str = "auto"
            spare: Literal["a", "b", "c"] = "a"
            pool_bytes: int | None = None
            max_len: int = Field(default=7, ge=1)
            reuse: bool = True
            skip: list[int] | None = None
            overrides: dict[str, str] | str = field(default_factory=dict)

            @field_validator("cache_dtype", mode="after")
            @classmethod
            def _known(cls, value):
                if not is_known(value):
                    raise ValueError(f"no format {value}")
                return value
    """,
    "vllm/platforms/__init__.py": "from vllm.platforms.interface import PlatformEnum\n",
    "vllm/platforms/interface.py": platform.INTERFACE,
    CUDA: platform.CUDA,
    FLASHINFER: _FLASHINFER,
    f"{_MOE}/modular_kernel.py": _MODULAR,
    f"{_MOE}/experts/fast.py": _FAST,
    f"{_MOE}/experts/slow.py": _SLOW,
    ORACLE: _ORACLE,
    LINEAR: _LINEAR,
    "vllm/model_executor/kernels/linear/nvfp4.py": platform.NVFP4_KERNELS,
    "vllm/v1/attention/backend.py": platform.ATTENTION_BASE,
    "vllm/v1/attention/backends/eager.py": platform.ATTENTION_BACKENDS,
    "vllm/v1/attention/backends/lazy.py": platform.LAZY_BACKEND,
    "vllm/v1/attention/backends/registry.py": """
        from enum import Enum

        class AttentionBackendEnum(Enum):
            EAGER = "vllm.v1.attention.backends.eager.EagerBackend"
            LAZY = "vllm.v1.attention.backends.lazy.LazyBackend"
            OTHER = ""
    """,
    "vllm/model_executor/layers/quantization/__init__.py": """
        from typing import Literal
        QuantizationMethods = Literal["fp8", "modelopt"]
    """,
    "vllm/_C.abi3.so": "",
    "vllm-9.9.9.dist-info/METADATA": platform.METADATA,
}


def source_tree() -> dict[str, bytes]:
    """The files of the small vLLM, by path."""
    files = (_FILES | SERVER_FILES).items()
    return {path: dedent(text).lstrip("\n").encode() for path, text in files}
