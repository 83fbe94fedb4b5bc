"""Runs inside a vLLM environment, not ours: which cache specs vLLM makes for the layers of configs.

``python ask_specs.py specs.json``: builds each model on the meta device, without weights, and says
where the answer differs from the one that the file holds. A row that is ``written`` holds its whole
config; any other is transformers' default for its architecture. Image packages that are missing are
stood in for, since nothing is computed.
"""

from __future__ import annotations

import ast
import importlib.machinery
import json
import math
import os
import sys
import tempfile
import types
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

KINDS = {
    "FullAttentionSpec": "full-attention",
    "SlidingWindowSpec": "sliding-window",
    "ChunkedLocalAttentionSpec": "chunked-local",
    "MLAAttentionSpec": "mla",
}
ABSENT = ("torchvision", "timm", "librosa", "soundfile", "av")


class _Absent(types.ModuleType):
    __version__ = "0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


class _Finder:
    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:
        loader: Any = self
        absent = name.partition(".")[0] in ABSENT
        return importlib.machinery.ModuleSpec(name, loader, is_package=True) if absent else None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def default_config(architecture: str) -> dict[str, Any]:
    auto = import_module("transformers.models.auto.modeling_auto")
    configs = import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    for name in dir(auto):
        if name.endswith("_MAPPING_NAMES"):
            for model_type, found in getattr(auto, name).items():
                if architecture in ([found] if isinstance(found, str) else found):
                    config: dict[str, Any] = configs[model_type]().to_dict()
                    return {**config, "architectures": [architecture]}
    raise LookupError(architecture)


def register(model_type: str) -> None:
    """A model type whose config class comes with its checkpoint."""
    base = import_module("transformers")
    known = import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    own = import_module("vllm.transformers_utils.config")._CONFIG_REGISTRY
    if model_type not in known and model_type not in own:
        fields = {"model_type": model_type}
        made = type("Written", (base.PreTrainedConfig,), fields)
        base.AutoConfig.register(model_type, made)


def join_alone(config: Any) -> None:
    parallel: Any = import_module("vllm.distributed.parallel_state")
    if not parallel.model_parallel_is_initialized():
        meeting = f"file://{tempfile.mkdtemp()}/meet"
        parallel.init_distributed_environment(1, 0, meeting, 0, backend="gloo")
        with config:
            parallel.initialize_model_parallel(1, 1)
        parallel._EP = parallel._EP or parallel._TP
        parallel._EPLB = getattr(parallel, "_EPLB", None) or parallel._TP


def ask(config: dict[str, Any]) -> list[dict[str, Any]]:
    torch, vllm = import_module("torch"), import_module("vllm.config")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(config, default=str), encoding="utf-8")
        settings = (
            import_module("vllm.engine.arg_utils")
            .EngineArgs(folder, skip_tokenizer_init=True, load_format="dummy", dtype="bfloat16")
            .create_engine_config()
        )
        join_alone(vllm.set_current_vllm_config(settings))
        with vllm.set_current_vllm_config(settings), torch.device("meta"):
            import_module("vllm.model_executor.model_loader.utils").initialize_model(settings)
            layers = settings.compilation_config.static_forward_context.values()
            found = [one.get_kv_cache_spec(settings) for one in layers if _keeps(one)]
    return counted([spec for spec in found if spec is not None])


def _keeps(layer: Any) -> bool:
    borrowed = getattr(layer, "kv_sharing_target_layer_name", None)
    return hasattr(layer, "get_kv_cache_spec") and not borrowed


def counted(specs: list[Any]) -> list[dict[str, Any]]:
    """Layers by what they keep: values of a state, or heads and dimensions of keys and values."""
    kept = Counter(json.dumps(_kept(spec)) for spec in specs)
    rows = [{**json.loads(text), "count": number} for text, number in kept.items()]
    return sorted(rows, key=str)


def _kept(spec: Any) -> dict[str, Any]:
    name = type(spec).__name__
    if name == "MambaSpec":
        shapes = ast.literal_eval(str(spec.shapes))
        return {"kind": "state", "values": sum(math.prod(shape) for shape in shapes)}
    value = 0 if KINDS.get(name) == "mla" else getattr(spec, "head_size_v", spec.head_size)
    return {
        "kind": KINDS.get(name, name),
        "heads": spec.num_kv_heads,
        "key": spec.head_size,
        "value": value,
        "window": getattr(spec, "sliding_window", None) or 0,
        "chunk": getattr(spec, "attention_chunk_size", None) or 0,
    }


def main() -> None:
    os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1"}
    import_module("transformers")
    sys.meta_path.append(_Finder())
    registry: Any = import_module("vllm.model_executor.models.registry")
    registry._run_in_subprocess = lambda task: task()
    for row in json.loads(Path(sys.argv[1]).read_bytes()):
        try:
            if row.get("written"):
                register(row["model_type"])
            config = row["config"] if row.get("written") else default_config(row["architecture"])
            told = ask(config)
        except Exception as error:  # noqa: BLE001 - whatever a model's own code throws
            print(f"{row['architecture']}: not built: {type(error).__name__}")  # noqa: T201
            continue
        if told != sorted(row["layers"], key=str):
            print(f"{row['architecture']}: {told}")  # noqa: T201


if __name__ == "__main__":
    main()
