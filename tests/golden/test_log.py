"""What the log command prints for real logs and answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.golden.conftest import Cli, Golden

LOGS = Path(__file__).parents[1] / "data" / "logs"
TEXTS = {
    "h200-0.26.0-moe-nvfp4a16.log": 0,
    "h200-0.26.0-moe-b12x-refused.log": 1,
    "cpu-0.32.0-engine-dies.log": 1,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_log_as_text(name: str, cli: Cli, golden: Golden) -> None:
    run = cli("log", str(LOGS / name))
    assert run.code == TEXTS[name]
    golden(f"log/{name.removesuffix('.log')}.txt", run.out)


def test_an_answer_as_text(cli: Cli, golden: Golden) -> None:
    run = cli("log", "--response", str(LOGS / "answer-starved.json"))
    assert run.code == 1
    golden("log/answer-starved.txt", run.out)


def _answer(content: str, finish: str) -> dict[str, object]:
    return {"choices": [{"message": {"content": content}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        ([_answer("a, b, c", "length")], 0, "1 answer read, none broken, but the answer was cut"),
        ([_answer("hm</think>yes", "stop")], 0, "1 answer read, none broken, but thinking leaks"),
        ([_answer("yes", "stop")] * 2, 0, "2 answers read, all sound"),
        ([_answer("a, b", "length"), _answer("!" * 40, "stop")], 1, "the answer is garbage"),
        ([_answer("a, b", "length"), _answer("", "stop")], 3, "does not tell what is wrong"),
    ],
)
def test_severity_and_verdict_of_answers_agree(
    answers: list[object], code: int, said: str, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(answers))
    run = cli("log", "--response", str(file))
    assert run.code == code
    assert said in run.out


def test_a_log_as_json_is_one_document(cli: Cli) -> None:
    run = cli("log", str(LOGS / "cpu-0.27.1-ngram.log"), "--json")
    document = json.loads(run.out)
    assert run.code == 0
    assert document["schema"] == "sparkproof/log/1"
    boot = document["result"]["boots"][0]["boot"]
    assert {s["name"]: s["value"] for s in boot["seen"]}["kv_tokens"] == 1_398_080


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("v0.26.0", "info  vllm: the log states 0.26.0, as tag v0.26.0 says 0.26.0"),
        ("v0.33.0", "warning  vllm: tag v0.33.0 says 0.33.0, the server in it states 0.26.0"),
    ],
)
def test_the_image_of_a_saved_inspection_is_held_against_the_log(
    tag: str, said: str, cli: Cli, tmp_path: Path
) -> None:
    inspect = tmp_path / "inspect.json"
    config = {"Image": f"vllm/vllm-openai:{tag}"}
    inspect.write_text(json.dumps([{"Name": "/x", "Config": config, "Image": "sha256:ab"}]))
    log = str(LOGS / "h200-0.26.0-dense-bf16.log")
    run = cli("log", log, "--inspect", str(inspect))
    assert run.code == 0
    assert said in run.out + cli("log", log, "--inspect", str(inspect), "--verbose").out
    both = cli("log", "--response", str(LOGS / "answer-sound.json"), "--inspect", str(inspect))
    assert both.code == 2


def test_a_post_mortem(cli: Cli, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.log"
    kernel.write_text(
        "Nov 29 20:43:12 spark kernel: Out of memory: Killed process 42 (VLLM::EngineCor)\n"
    )
    inspect = tmp_path / "inspect.json"
    state = {"Status": "exited", "ExitCode": 137, "OOMKilled": False}
    inspect.write_text(json.dumps([{"Name": "/x", "Config": {}, "State": state}]))
    log = tmp_path / "engine.log"
    whole = (LOGS / "h200-0.26.0-dense-bf16.log").read_text()
    log.write_text(whole.partition("(APIServer pid=1308) INFO 11-29 20:43:17")[0])
    pieces = ("--inspect", str(inspect), "--kernel", str(kernel))
    run = cli("log", str(log), "--postmortem", *pieces)
    assert run.code == 1
    assert "died while serving: the kernel's OOM killer took the server" in run.out
    assert "kernel log, line 1: `Out of memory: Killed process 42" in " ".join(run.out.split())
    assert "Nov 29 20:43:12" in run.out
    alone = cli("log", str(log), "--postmortem", "--inspect", str(inspect))
    assert alone.code == 3
    assert "the cause can't be told" in alone.out


def test_secrets_and_addresses_are_masked(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(
        "(APIServer pid=1) INFO 11-29 20:41:25 [api_utils.py:273] non-default args: "
        "{'api_key': 'sk-abcdefghijklmnop', 'model': '/home/ada/models/m', 'host': '10.1.2.3'}\n"
    )
    out = cli("log", str(log), "--redact", "--json").out
    assert "abcdefghijklmnop" not in out
    assert "/home/ada" not in out
    assert "10.1.2.3" not in out
    assert "10.1.2.3" in cli("log", str(log), "--json").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), 2), (("x.log", "--kernel", str(LOGS / "MANIFEST.toml")), 2), (("no-such.log",), 4)],
)
def test_wrong_usage_and_missing_files(arguments: tuple[str, ...], code: int, cli: Cli) -> None:
    assert cli("log", *arguments).code == code
