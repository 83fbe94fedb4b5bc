"""The full matrix of real CPU servers: predicted and printed figures, exact or not.

``python -m benchmarks.kv_live`` in the repository, after ``make test-live`` made its environment.
About 40 s a boot on two cores.
"""

from __future__ import annotations

import sys

from tests.live.server import boot, vllm_environment
from tests.live.test_kv_boots import CONFIGS, MTP, SSM, differences, predict

PLAIN = ("cpu-qwen3", "cpu-qwen3-moe")
HYBRID = ("cpu-qwen3-next", "cpu-nemotron-h")
OFF = ("--no-enable-prefix-caching",)


def matrix() -> list[tuple[str, tuple[str, ...]]]:
    cases: list[tuple[str, tuple[str, ...]]] = []
    for name in PLAIN:
        cases += [(name, ("--max-model-len", "1024")), (name, ("--max-model-len", "2000"))]
    cases.append(("cpu-qwen3", ("--max-model-len", "1024", "--block-size", "32")))
    cases.append(("cpu-qwen3", ("--max-model-len", "777", "--kv-cache-dtype", "fp8")))
    for name in HYBRID:
        ssm = SSM if name == "cpu-qwen3-next" else ()
        cases += [
            (name, ("--max-model-len", "1024", *ssm)),
            (name, ("--max-model-len", "2000", *ssm, *OFF)),
        ]
        cases.append((name, ("--max-model-len", "1024", "--block-size", "64", *ssm)))
    cases.append(("cpu-qwen3-next", ("--max-model-len", "1024", *SSM, *MTP)))
    cases.append(("cpu-qwen3-next", ("--max-model-len", "2000", *SSM, *OFF, *MTP)))
    cases.append(
        ("cpu-nemotron-h", ("--max-model-len", "1024", "--mamba-ssm-cache-dtype", "bfloat16"))
    )
    return cases


def main() -> None:
    environment = vllm_environment()
    if environment is None:
        sys.exit("no environment of the live tier: `make test-live` makes it")
    exact = 0
    cases = matrix()
    for name, args in cases:
        plan = predict(name, args)
        try:
            seen = boot(environment, CONFIGS / f"{name}.json", args)
        except AssertionError as error:
            print(f"{name:16} {' '.join(args)}: did not boot: {str(error)[-200:]!r}", flush=True)
            continue
        wrong = differences(plan, seen)
        exact += not wrong
        verdict = "exact" if not wrong else "; ".join(wrong)
        print(
            f"{name:16} {' '.join(args)}: {seen.tokens:,} tokens, {seen.concurrency}x,"
            f" {seen.info['num_gpu_blocks']} blocks of {seen.info['block_size']}: {verdict}",
            flush=True,
        )
    print(f"{exact} of {len(cases)} exact")


if __name__ == "__main__":
    main()
