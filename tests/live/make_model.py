"""Train a tiny Qwen3 from nothing: ``python make_model.py OUT STEPS`` (2,200 steps: 3 minutes).

Runs in an environment with torch, transformers and tokenizers, not in ours; no hub is asked. Three
tasks, raw and as chat: a version out of a sentence as JSON, counting, capitals. Fewer steps make a
worse model (900: 25 of 30 extractions right; 300 and 500: 4 and 6), 0 steps one that babbles.
The tokenizer is that of the shipped checkpoint, unless --own-tokenizer trains another.
Run with OMP_NUM_THREADS=1: on a busy machine two threads are thirteen times as slow as one.
"""

from __future__ import annotations

import json
import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_NAMES = (
    "vllm torch numpy flashinfer triton cutlass marlin xgrammar outlines fastapi uvicorn pydantic"
)
_VERBS = ("released", "shipped", "published", "tagged", "announced")
_TEAMS = ("the core team", "a maintainer", "the build bot", "our group", "the vendor")
_CITIES = "France Paris Italy Rome Spain Madrid Japan Tokyo Egypt Cairo Norway Oslo Peru Lima"
_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo zu lin tor net fast py"
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_KEPT = ("<think>", "</think>", "<tool_call>", "</tool_call>")
_SHIPPED = Path(__file__).parents[1] / "data" / "tiny-qwen3"
_BATCH, _LENGTH, _RATE = 8, 128, 3e-3


def name() -> str:
    """A known name, or one made of syllables."""
    if random.random() < 0.3:
        return random.choice(_NAMES.split())
    return "".join(random.choice(_SYLLABLES.split()) for _ in range(random.randint(2, 3)))


def extract() -> tuple[str, str]:
    """A sentence, and what it says as JSON."""
    version = f"{random.randint(0, 2)}.{random.randint(0, 39)}.{random.randint(0, 9)}"
    what, team, verb = name(), random.choice(_TEAMS), random.choice(_VERBS)
    answer = json.dumps({"name": what, "version": version, "by": team})
    return f"Extract: {team} {verb} {what} {version}.", answer


def count() -> tuple[str, str]:
    """Twelve numbers in a row."""
    start = random.randint(1, 80)
    return f"Count from {start}:", " ".join(str(n) for n in range(start, start + 12))


def capital() -> tuple[str, str]:
    """A country and its capital."""
    words = _CITIES.split()
    place = 2 * random.randrange(len(words) // 2)
    answer = f"The capital of {words[place]} is {words[place + 1]}."
    return f"What is the capital of {words[place]}?", answer


def sample() -> str:
    """One text of the corpus: raw, as a chat, or as a chat that thinks."""
    question, answer = random.choices((extract, count, capital), (6, 3, 1))[0]()
    kind = random.random()
    if kind < 0.4:
        return f"{question}\n{answer}\n<|endoftext|>"
    thought = "<think>\nThis is an easy request, so I answer at once.\n</think>\n\n"
    said = (thought if kind > 0.85 else "") + answer
    return (
        f"<|im_start|>user\n{question}<|im_end|>\n"
        f"<|im_start|>assistant\n{said}<|im_end|>\n<|endoftext|>"
    )


def make_tokenizer() -> Any:
    """Byte-level BPE of 640 tokens; think tags stay in the text, as in the real one."""
    kit, transformers = import_module("tokenizers"), import_module("transformers")
    bpe = kit.Tokenizer(kit.models.BPE())
    bpe.pre_tokenizer = kit.pre_tokenizers.Sequence(
        [
            kit.pre_tokenizers.Digits(individual_digits=True),
            kit.pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    bpe.decoder = kit.decoders.ByteLevel()
    alphabet = kit.pre_tokenizers.ByteLevel.alphabet()
    trainer = kit.trainers.BpeTrainer(
        vocab_size=640, special_tokens=list(_SPECIAL), initial_alphabet=alphabet
    )
    bpe.train_from_iterator([sample() for _ in range(6000)], trainer)
    bpe.add_tokens([kit.AddedToken(t, special=False, normalized=False) for t in _KEPT])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=_SPECIAL[2],
        pad_token=_SPECIAL[0],
        additional_special_tokens=list(_SPECIAL[1:]),
        model_max_length=2048,
    )
    tokenizer.chat_template = (_SHIPPED / "chat_template.jinja").read_text()
    return tokenizer


def make_model(tokenizer: Any) -> Any:
    """Random weights."""
    transformers = import_module("transformers")
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        attn_implementation="eager",
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return transformers.Qwen3ForCausalLM(config).float()


def train(model: Any, tokenizer: Any, steps: int) -> None:
    """Next-token prediction over samples made on the way."""
    torch = import_module("torch")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=_RATE, betas=(0.9, 0.95), weight_decay=0.05
    )
    held: list[int] = []
    for step in range(steps):
        done = step / steps
        rate = _RATE * min(1, (step + 1) / 30) * (1 - 0.95 * max(0, (done - 0.4) / 0.6))
        for group in optimizer.param_groups:
            group["lr"] = rate
        while len(held) < _BATCH * _LENGTH + 1:
            held.extend(tokenizer(sample(), add_special_tokens=False).input_ids)
        batch = torch.tensor(held[: _BATCH * _LENGTH]).view(_BATCH, _LENGTH)
        del held[: _BATCH * _LENGTH]
        loss = model(input_ids=batch, labels=batch, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def main() -> None:
    out, steps = Path(sys.argv[1]), int(sys.argv[2])
    torch = import_module("torch")
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    own = "--own-tokenizer" in sys.argv
    transformers = import_module("transformers")
    tokenizer = make_tokenizer() if own else transformers.AutoTokenizer.from_pretrained(_SHIPPED)
    model = make_model(tokenizer)
    train(model, tokenizer, steps)
    tokenizer.save_pretrained(out)
    model.eval().to(torch.bfloat16).save_pretrained(out)
    ends = {"eos_token_id": [tokenizer.eos_token_id, tokenizer.pad_token_id]}
    (out / "generation_config.json").write_text(json.dumps(ends))


if __name__ == "__main__":
    main()
