"""Quantize small random models with the well-kept tools and keep the headers of what they write.

usage: make_fixtures.py WORK ct|mo|ar|cut

Each tool wants an environment of its own (versions: MANIFEST.toml). `ct` needs llmcompressor,
`mo` nvidia-modelopt, `ar` auto-round, all of them transformers and a CPU build of torch; `cut`
needs nothing and copies configs and headers from WORK into this folder.
"""
# mypy: ignore-errors

import copy
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
COMMON = {
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": False,
}
MOE = {"moe_intermediate_size": 128, "num_experts": 4, "num_experts_per_tok": 2}
IGNORE = ["lm_head", "re:.*mlp.gate$"]
PRESETS = {
    "dense-nvfp4": "NVFP4",
    "moe-nvfp4": "NVFP4",
    "dense-nvfp4a16": "NVFP4A16",
    "moe-nvfp4a16": "NVFP4A16",
    "dense-fp8-static": "FP8",
    "dense-fp8-dynamic": "FP8_DYNAMIC",
    "dense-fp8-block": "FP8_BLOCK",
    "dense-w4a16": "W4A16",
    "dense-w4a16-asym": "W4A16_ASYM",
    "dense-w8a8": "W8A8",
    "dense-w8a16": "W8A16",
    "dense-mxfp4": "MXFP4",
    "dense-mxfp4a16": "MXFP4A16",
    "dense-mxfp8": "MXFP8",
    "dense-w4afp8": "W4AFP8",
    "dense-lmhead": "NVFP4A16",
    "moe-mixed": "",
}
ALGORITHMS = {
    "moe-nvfp4": "NVFP4_DEFAULT_CFG",
    "dense-nvfp4-kv": "NVFP4_DEFAULT_CFG",
    "dense-fp8": "FP8_DEFAULT_CFG",
    "dense-fp8-pc-pt": "FP8_PER_CHANNEL_PER_TOKEN_CFG",
    "dense-fp8-pb-wo": "FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG",
    "dense-w4a16": "W4A16_NVFP4_CFG",
    "dense-int4-awq": "INT4_AWQ_CFG",
    "moe-mlp-only": "NVFP4_MLP_ONLY_CFG",
    "dense-mxfp8": "MXFP8_DEFAULT_CFG",
    "moe-mixed": "NVFP4_MLP_ONLY_CFG",
}
KV = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False, "symmetric": True}


def base(work, kind):
    """The random model in 16 bits, made once."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models

    folder = work / f"base-{kind}"
    if not folder.is_dir():
        torch.manual_seed(0)
        if kind == "moe":
            config = transformers.Qwen3MoeConfig(**COMMON, **MOE)
            model = transformers.Qwen3MoeForCausalLM(config)
        else:
            model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**COMMON))
        model.to(torch.bfloat16).save_pretrained(folder)
        words = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=words, pad_token="b", unk_token="a"
        ).save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    return model, tokenizer


def with_llm_compressor(work):
    import torch
    from compressed_tensors.quantization import preset_name_to_scheme
    from datasets import Dataset
    from llmcompressor import oneshot
    from llmcompressor.modifiers.quantization import QuantizationModifier

    ids = [torch.randint(0, 512, (32,)).tolist() for _ in range(4)]
    data = Dataset.from_dict({"input_ids": ids, "attention_mask": [[1] * 32] * 4})
    for name, preset in PRESETS.items():
        model, tokenizer = base(work, name.partition("-")[0])
        if preset:
            recipe = QuantizationModifier(
                targets="Linear",
                scheme=preset,
                ignore=[] if name == "dense-lmhead" else IGNORE,
                **({"kv_cache_scheme": KV} if name == "dense-fp8-static" else {}),
            )
        else:
            groups = {
                "group_0": preset_name_to_scheme("NVFP4", ["re:.*mlp.*(gate|up|down)_proj$"]),
                "group_1": preset_name_to_scheme("FP8_DYNAMIC", ["re:.*self_attn.*"]),
            }
            recipe = QuantizationModifier(config_groups=groups, ignore=IGNORE)
        oneshot(
            model=model,
            recipe=recipe,
            dataset=data,
            num_calibration_samples=4,
            max_seq_length=32,
            processor=tokenizer,
        )
        model.save_pretrained(work / f"ct-{name}", save_compressed=True)


def with_modelopt(work):
    import modelopt.torch.quantization as mtq
    import torch
    from modelopt.torch.export import export_hf_checkpoint

    def calibrate(model):
        for _ in range(2):
            model(torch.randint(0, 512, (1, 32)))

    for name, algorithm in ALGORITHMS.items():
        model, _ = base(work, name.partition("-")[0])
        config = copy.deepcopy(getattr(mtq, algorithm))
        if name.endswith("-kv"):
            config["quant_cfg"] = [*config["quant_cfg"], *mtq.FP8_KV_CFG["quant_cfg"]]
        if name.endswith("-mixed"):
            config["quant_cfg"] += [
                {
                    "quantizer_name": f"*self_attn*{side}_quantizer",
                    "cfg": {"num_bits": (4, 3), "axis": None},
                    "enable": True,
                }
                for side in ("weight", "input")
            ]
        export_hf_checkpoint(
            mtq.quantize(model, config, calibrate), export_dir=str(work / f"mo-{name}")
        )


def with_auto_round(work):
    from auto_round import AutoRound

    for kind, form, bits in (
        ("dense", "auto_gptq", 4),
        ("dense", "auto_gptq", 8),
        ("dense", "auto_awq", 4),
        ("moe", "auto_round", 4),
    ):
        model, tokenizer = base(work, kind)
        rounder = AutoRound(
            model,
            tokenizer,
            bits=bits,
            group_size=128,
            sym=form != "auto_awq",
            iters=0,
            disable_opt_rtn=True,
        )
        method = form.removeprefix("auto_").replace("round", "autoround")
        rounder.quantize_and_save(str(work / f"ar-{kind}-{method}-{bits}"), format=form)


def cut(work):
    for config in sorted(work.glob("[cma][tor]-*/**/config.json")):
        name = config.relative_to(work).parts[0]
        target = HERE / name
        target.mkdir(exist_ok=True)
        for file in ("config.json", "hf_quant_config.json"):
            if (config.parent / file).exists():
                shutil.copy(config.parent / file, target / file)
        data = (config.parent / "model.safetensors").read_bytes()
        end = 8 + int.from_bytes(data[:8], "little")
        (target / "model.safetensors.head").write_bytes(data[:end])
        print(name, len(data))


if __name__ == "__main__":
    jobs = {"ct": with_llm_compressor, "mo": with_modelopt, "ar": with_auto_round, "cut": cut}
    jobs[sys.argv[2]](pathlib.Path(sys.argv[1]))
