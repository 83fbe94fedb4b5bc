"""The half of the small vLLM that is no selection: options, registries, rules, server, wording."""

from __future__ import annotations

CLI_ARGS = "vllm/entrypoints/common/cli_args.py"
ARG_UTILS = "vllm/engine/arg_utils.py"
CONFIG = "vllm/config/vllm.py"
REGISTRY = "vllm/model_executor/models/registry.py"
APP = "vllm/entrypoints/launchers/app.py"
LOGGERS = "vllm/v1/metrics/loggers.py"
TOOL_PARSERS = "vllm/tool_parsers/__init__.py"

_ARG_UTILS = """
    import argparse
    import json
    from vllm.config.kernel import KernelConfig
    from vllm.config.cache import CacheConfig
    from vllm.config.vllm import SledConfig, VllmConfig
    from vllm.utils.mem import GiB_bytes
    from vllm.platforms import current_platform

    def _compute_kwargs(cls):
        for name in cls:
            if name == "max_len":
                kwargs[name]["type"] = human_readable_int_or_auto
            elif name in {"pool_bytes"}:
                kwargs[name]["type"] = human_readable_int

    _OLD = "--old-way is deprecated and will be removed in v9.10."

    class EngineArgs:
        @staticmethod
        def add_cli_args(parser):
            kernel_kwargs = get_kwargs(KernelConfig)
            moe_backend_kwargs = kernel_kwargs["moe_backend"]
            moe_backend_kwargs["type"] = lambda s: s.lower().replace("-", "_")
            group = parser.add_argument_group(title="KernelConfig")
            group.add_argument("--moe-backend", **moe_backend_kwargs)
            group.add_argument("--linear-backend", **kernel_kwargs["linear_backend"])
            cache_kwargs = get_kwargs(CacheConfig)
            cache_kwargs["spare"]["choices"].remove("c")
            group.add_argument("--kv-cache-dtype", **cache_kwargs["cache_dtype"])
            group.add_argument("--spare", "-s", **cache_kwargs["spare"])
            group.add_argument("--pool-bytes", **cache_kwargs["pool_bytes"])
            group.add_argument("--max-len", **{**cache_kwargs["max_len"], "default": None})
            group.add_argument("--enable-reuse", **cache_kwargs["reuse"])
            group.add_argument("--skip", **cache_kwargs["skip"])
            group.add_argument("--overrides", **cache_kwargs["overrides"])
            vllm_kwargs = get_kwargs(VllmConfig)
            group.add_argument("--sled-config", "-sc", **vllm_kwargs["sled_config"])
            group.add_argument("--attention-backend", type=str, default=None)
            group.add_argument(
                "--old-way", action=argparse.BooleanOptionalAction, default=None, help=_OLD
            )
            group.add_argument("--quiet", action="store_true", help="Say less.")
            return parser

        @classmethod
        def get_batch_defaults(cls, world_size):
            try:
                memory = current_platform.get_device_total_memory()
                name = current_platform.get_device_name().lower()
                is_small = current_platform.is_device_capability((12, 1))
            except Exception:
                memory = 0
                name = ""
                is_small = False
            if memory >= 70 * GiB_bytes and "a100" not in name and not is_small:
                default_max_num_batched_tokens = {
                    UsageContext.LLM_CLASS: 400, UsageContext.OPENAI_API_SERVER: 300
                }
                default_max_num_seqs = {
                    UsageContext.LLM_CLASS: 40, UsageContext.OPENAI_API_SERVER: 30
                }
            else:
                default_max_num_batched_tokens = {
                    UsageContext.LLM_CLASS: 200, UsageContext.OPENAI_API_SERVER: 100
                }
                default_max_num_seqs = {
                    UsageContext.LLM_CLASS: 20, UsageContext.OPENAI_API_SERVER: 10
                }
            if current_platform.is_tpu():
                default_max_num_seqs = {
                    UsageContext.LLM_CLASS: 2, UsageContext.OPENAI_API_SERVER: 1
                }
                default_max_num_batched_tokens = {
                    UsageContext.LLM_CLASS: 2, UsageContext.OPENAI_API_SERVER: 1
                }
            return default_max_num_batched_tokens, default_max_num_seqs
"""

_CLI_ARGS = """
    import json
    from vllm.config.utils import config
    from vllm.engine.arg_utils import EngineArgs

    @config
    class FrontendArgs:
        host: str | None = None
        port: int = 8000
        keys: list[str] | None = None
        origins: list[str] = field(default_factory=lambda: ["*"])

        @classmethod
        def _customize_cli_kwargs(cls, kwargs):
            kwargs["origins"]["type"] = json.loads
            if "nargs" in kwargs["origins"]:
                del kwargs["origins"]["nargs"]
            return kwargs

        @classmethod
        def add_cli_args(cls, parser):
            kwargs = get_kwargs(cls)
            kwargs = cls._customize_cli_kwargs(kwargs)
            for key, value in kwargs.items():
                parser.add_argument(f"--{key.replace('_', '-')}", **value)
            return parser

    def make_arg_parser(parser):
        parser.add_argument("model_tag", type=str, nargs="?")
        parser.add_argument("--headless", action="store_true", default=False)
        parser = FrontendArgs.add_cli_args(parser)
        parser = EngineArgs.add_cli_args(parser)
        return parser
"""

_CONFIG = """
    from enum import Enum
    from typing import Literal
    from pydantic import field_validator
    from pydantic.dataclasses import dataclass
    from vllm.config.utils import config
    from vllm.platforms import current_platform
    import vllm.envs as envs

    TowTypes = Literal["tow", "double_tow"]
    PullMethod = Literal["push", TowTypes]
    OPTIMIZATION_LEVEL_00 = {"compilation_config": {"cudagraph_mode": CUDAGraphMode.NONE}}
    OPTIMIZATION_LEVEL_01 = {"compilation_config": {"cudagraph_mode": CUDAGraphMode.FULL}}
    OPTIMIZATION_LEVEL_TO_CONFIG = {
        OptimizationLevel.O0: OPTIMIZATION_LEVEL_00,
        OptimizationLevel.O1: OPTIMIZATION_LEVEL_01,
    }
    NEW_RUNNER_ARCHITECTURES = frozenset({"SledForCausalLM"})

    class Harness(Enum):
        GANG_LINE = "gang"
        FAN = "fan"

    @config
    class SledConfig:
        method: PullMethod | None = None
        dogs: int = 8
        harness: Harness | None = None

        @field_validator("harness", mode="before")
        @classmethod
        def _by_name(cls, value):
            if isinstance(value, str):
                if value.lower() == "auto":
                    return None
                return Harness[value.upper()]
            return value

    @dataclass
    class LooseConfig:
        rope: int = 1

    @config
    class VllmConfig:
        sled_config: SledConfig | None = None
        optimization_level: OptimizationLevel = OptimizationLevel.O1

        @property
        def use_v2_model_runner(self):
            chosen = envs.VLLM_LATE_ROCKET
            if chosen is not None:
                return chosen
            names = self.model_config.architectures
            if not any(name in NEW_RUNNER_ARCHITECTURES for name in names):
                return False
            if self._get_v2_model_runner_unsupported_features():
                logger.warning("The new runner does not yet support %s.", 1)
                return False
            return True

        def _get_v2_model_runner_unsupported_features(self):
            unsupported = []
            if self.sled_config is not None and self.sled_config.method in ("push",):
                unsupported.append("pushing")
            return unsupported

        def __post_init__(self):
            supported = executor_class.supports_async_scheduling()
            reason = None
            if self.sled_config is not None and (
                self.sled_config.method not in get_args(TowTypes)
            ):
                reason = "pushing"
            if self.scheduler_config.async_scheduling:
                if reason is not None:
                    raise ValueError(f"Async scheduling does not go with {reason}.")
            elif self.scheduler_config.async_scheduling is None:
                if not supported:
                    logger.warning("Async scheduling is off: the executor can't.")
                    self.scheduler_config.async_scheduling = False
                elif reason is not None:
                    self.scheduler_config.async_scheduling = False
                else:
                    self.scheduler_config.async_scheduling = True

        def _set_cudagraph_sizes(self):
            ceiling = 64 if current_platform.is_device_capability_family(100) else 32
            max_cudagraph_capture_size = min(self.scheduler_config.max_num_seqs * 2, ceiling)
            cudagraph_capture_sizes = [i for i in [1, 2] if i <= max_cudagraph_capture_size]
            cudagraph_capture_sizes += list(range(4, max_cudagraph_capture_size + 1, 4))
"""

_REGISTRY = """
    _TEXT_GENERATION_MODELS = {
        "SledForCausalLM": ("sled", "SledForCausalLM"),
        "OtherSled": ("sled", "SledForCausalLM"),
        "LadderForCausalLM": ("vllm.models.ladder", "LadderForCausalLM"),
    }
    _EMBEDDING_MODELS = {
        "SledModel": ("sled", "SledForCausalLM"),
        **{
            k: (mod, arch)
            for k, (mod, arch) in _TEXT_GENERATION_MODELS.items()
            if arch == "SledForCausalLM"
        },
    }
    _VLLM_MODELS = {
        **_TEXT_GENERATION_MODELS,
        **_EMBEDDING_MODELS,
    }
    _PREVIOUSLY_SUPPORTED_MODELS = {"RopeForCausalLM": "8.0"}
"""

_APP = """
    import vllm.envs as envs

    def build_app(args):
        app = FastAPI()
        register(app)
        if envs.VLLM_SERVER_DEV_MODE:
            from vllm.entrypoints.dev import attach_router as attach_dev

            attach_dev(app)
        return app

    def register(app):
        from vllm.entrypoints.plain import router as plain_router

        app.include_router(plain_router)
        app.mount("/metrics", make_asgi_app())
"""

_LOGGERS = """
    class Logger:
        def __init__(self):
            self.running = self._gauge_cls(name="vllm:running", documentation="vllm:is no name")
            specs = [("vllm:drafts", "Drafts."), ("vllm:accepted", "Accepted.")]
            self.counters = [self._counter_cls(name=name) for name, doc in specs]
            if name.startswith("vllm:spec_"):
                logger.info_once("Pulled %d sleds", 3)
                logger.warning(
                    "The rope "
                    "is %s",
                    "torn",
                )
            msg = f"no dogs at {self.place}"
            raise ValueError(msg)
"""

SERVER_FILES = {
    CLI_ARGS: _CLI_ARGS,
    ARG_UTILS: _ARG_UTILS,
    CONFIG: _CONFIG,
    REGISTRY: _REGISTRY,
    APP: _APP,
    LOGGERS: _LOGGERS,
    "vllm/config/utils.py": """
        from pydantic import ConfigDict
        from pydantic.dataclasses import dataclass

        def config(cls):
            return dataclass(cls, config=ConfigDict(extra="forbid"))
    """,
    "vllm/utils/mem.py": "MiB_bytes = 1 << 20\nGiB_bytes = 1024 * MiB_bytes\n",
    "vllm/entrypoints/plain.py": """
        router = APIRouter(prefix="/v1")

        @router.get("/models")
        async def models():
            pass

        router.add_api_route("/late", models, methods=["POST"])
    """,
    "vllm/entrypoints/dev.py": """
        router = APIRouter()

        @router.post("/reset")
        async def reset():
            pass

        def attach_router(app):
            app.include_router(router)
    """,
    TOOL_PARSERS: """
        _TOOL_PARSERS_TO_REGISTER = {"sled": ("sled_parser", "SledParser")}
    """,
    "vllm/reasoning/__init__.py": """
        _REASONING_PARSERS_TO_REGISTER = {"rope": ("rope_parser", "RopeParser")}
    """,
}
"""Source by path, indented as it stands here."""
