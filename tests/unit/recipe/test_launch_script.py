"""Launch scripts: read whole, or refused by what is in the way."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.recipe.launch_script import parse_launch_script

ARGS = ("--max-model-len", "8192", "--kv-cache-dtype", "fp8")
LAUNCHES = {
    "bare": "vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8\n",
    "continued": "#!/bin/bash\nset -euo pipefail\nvllm serve org/model \\\n"
    "  --max-model-len 8192 `` \\\n  --kv-cache-dtype fp8\n".replace("`` ", ""),
    "background": "nohup vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8"
    " > logs/server.log 2>&1 &\n",
    "piped": "vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8 2>&1 | tee log\n",
    "variables": 'MODEL="${1:-org/model}"\nLEN=${MAX_LEN:-8192}\nFP="fp8"\n'
    'exec vllm serve "$MODEL" --max-model-len "$LEN" --kv-cache-dtype ${FP}\n',
    "array": "ARGS=(\n  --max-model-len 8192  # tokens\n)\nARGS+=(--kv-cache-dtype fp8)\n"
    'vllm serve org/model "${ARGS[@]}" "$@"\n',
    "split": 'EXTRA="--max-model-len 8192"\nEXTRA+=" --kv-cache-dtype fp8"\n'
    "vllm serve org/model $EXTRA\n",
    "module": "python3 -m vllm.entrypoints.openai.api_server --model org/model"
    " --max-model-len 8192 --kv-cache-dtype fp8\n",
    "uv": "source .venv/bin/activate\ncd /srv && uv run vllm serve org/model"
    " --max-model-len 8192 --kv-cache-dtype fp8\n",
    "elsewhere unknown": 'DIR="$(cd "$(dirname "$0")" && pwd)"\necho "from $DIR"\n'
    "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches\n"
    "vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8\n",
    "text in the way": "cat > notes <<'EOF'\nvllm serve other/model --nope\nEOF\n"
    "vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8\n",
}


@pytest.mark.parametrize("text", LAUNCHES.values(), ids=LAUNCHES)
def test_every_way_to_write_it_gives_one_deployment(text: str) -> None:
    deployment = parse_launch_script(text.encode(), "run.sh")
    assert deployment.checkpoint == "org/model"
    assert deployment.args == ARGS
    assert not deployment.artifact


@pytest.mark.parametrize(
    "text",
    [
        "export VLLM_A=1 CUTE_DSL_ARCH=sm_121a HOME_PAGE=x\nvllm serve m/m\n",
        'VLLM_A="1" CUTE_DSL_ARCH=sm_121a vllm serve m/m\n',
        "VLLM_A=1\nexport VLLM_A\nexport CUTE_DSL_ARCH=sm_121a\nVLLM_B=2 x\nvllm serve m/m",
        "VLLM_A=1 CUTE_DSL_ARCH=sm_121a HF_TOKEN=$HF_TOKEN vllm serve m/m\n",
        "env VLLM_A=1 CUTE_DSL_ARCH=sm_121a vllm serve m/m\n",
    ],
)
def test_the_environment_that_the_server_gets(text: str) -> None:
    deployment = parse_launch_script(text.encode(), "run.sh")
    assert deployment.env == {"VLLM_A": "1", "CUTE_DSL_ARCH": "sm_121a"}


RUNS = {
    "with the program": "docker run -d --name spark --gpus all --ipc=host -p 8000:8000 "
    '-e VLLM_A=1 --shm-size 16g -v "$HOME/.cache:/root/.cache" reg/vllm:1 '
    'vllm serve "org/model" --max-model-len 8192 --kv-cache-dtype fp8',
    "the image's own": "sudo docker run -it --rm --name=spark --runtime nvidia -eVLLM_A=1 "
    "-e HF_TOKEN reg/vllm:1 --model org/model --max-model-len 8192 --kv-cache-dtype fp8",
    "model first": "podman run --env VLLM_A=1 --name spark reg/vllm:1 "
    "org/model --max-model-len 8192 --kv-cache-dtype fp8",
    "a shell": "docker run --name spark -e VLLM_A=1 --entrypoint bash reg/vllm:1 "
    "-lc 'vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8'",
    "an interactive shell": "docker run -it --name spark reg/vllm:1 bash -c -i "
    "' VLLM_A=1 vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8'",
    "set inside": "IMAGE=reg/vllm:1\ndocker stop spark || true\ndocker run --name spark $IMAGE "
    'bash -c "export VLLM_A=1 && vllm serve org/model --max-model-len 8192 --kv-cache-dtype fp8"',
}


@pytest.mark.parametrize("text", RUNS.values(), ids=RUNS)
def test_a_container_is_started(text: str) -> None:
    deployment = parse_launch_script(text.encode(), "run.sh")
    assert (deployment.checkpoint, deployment.args) == ("org/model", ARGS)
    assert (deployment.artifact, deployment.name) == ("image:reg/vllm:1", "spark")
    assert deployment.env == {"VLLM_A": "1"}


def test_a_json_value_stays_whole() -> None:
    text = "vllm serve m/m --speculative-config '{\"method\": \"mtp\"}' --enforce-eager -cc '{}'"
    assert parse_launch_script(text.encode(), "run.sh").args == (
        "--speculative-config",
        '{"method": "mtp"}',
        "--enforce-eager",
        "-cc",
        "{}",
    )


REFUSED = {
    "if [ -n x ]; then A=1; fi\nvllm serve m/m": "`if` is not read",
    "[ -n x ] && ARGS+=(--enforce-eager)\nvllm serve m/m ${ARGS[@]}": "decided by another",
    "grep -q x y || EXTRA=--z\nvllm serve m/m $EXTRA": "decided by another",
    "source .env\nvllm serve m/m": "`source .env` is not read",
    "vllm serve $MODEL": "`\\$MODEL` is known only",
    "vllm serve m/m --port $(next-port)": "next-port",
    "export VLLM_HOST_IP=$(hostname -I)\nvllm serve m/m": "hostname -I",
    "vllm serve m/m\nvllm serve n/n --port 8001": "2 commands",
    "vllm serve m/m --config serve.yaml": "`--config` names a file",
    "docker run --env-file .env reg/vllm:1 --model m/m": "--env-file .env",
    "docker run -e VLLM_A reg/vllm:1 --model m/m": "`-e VLLM_A` takes its value",
    "docker run reg/vllm:1 bash /start.sh": "runs is not in it",
    "docker run ${A:+-e A=1} reg/vllm:1 vllm serve m/m": "`\\$\\{A:\\+-e A=1\\}` is known only",
    "docker run ${A:+-e A=1} reg/vllm:1": "runs is not in it",
    "docker run -Z reg/vllm:1 --model m/m": "`-Z` of `docker run`",
    "docker exec spark vllm serve m/m": "`docker` starts the server in a way",
    "./launch-cluster.sh -e VLLM_A=1 exec vllm serve m/m": "launch-cluster.sh` starts",
    "bash <<EOF\nvllm serve m/m\nEOF": "here-document that `bash`",
    "serve() { vllm serve m/m; }\nserve": "`\\(` is not read",
    "set -a\nVLLM_A=1\nvllm serve m/m": "`set -a` is not read",
    "vllm serve 'm/m": "a quote is not closed",
    "echo vllm serve m/m": "no command in it",
    "vllm serve --port 8000": "no model follows",
    "A=aaaaaaaa\n" + "A=$A$A\n" * 60 + "vllm serve $A": "fill in more than",
    "A=(aaaaaaaa)\n" + 'A+=("${A[@]}")\n' * 60 + 'vllm serve "${A[@]}"': "fill in more than",
    "a\n" * (1 << 16) + "vllm serve m/m": "larger than",
    "": "no command in it",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=[t[:40] for t in REFUSED])
def test_what_could_change_the_outcome_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_launch_script(text.encode(), "run.sh")


def test_no_text_is_one_error() -> None:
    with pytest.raises(FormatError, match="no text"):
        parse_launch_script(b"\xff\xfe", "run.sh")
