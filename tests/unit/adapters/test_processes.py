"""Servers are found by their command lines, and keys stay out of what is told."""

from __future__ import annotations

from pathlib import Path

from sparkproof.adapters.processes import find_servers


def process(proc: Path, number: int, *words: str) -> None:
    (proc / str(number)).mkdir()
    (proc / str(number) / "cmdline").write_bytes("\0".join((*words, "")).encode())


def test_servers_are_told_and_their_keys_are_not(tmp_path: Path) -> None:
    process(tmp_path, 1, "/sbin/init")
    process(tmp_path, 20, "/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "/models/a")
    process(tmp_path, 21, "/usr/bin/vllm", "serve", "--api-key", "secret")
    process(tmp_path, 22, "/opt/llama-server", "-m", "x.gguf")
    process(tmp_path, 23, "python", "-m", "sglang.launch_server", "--api-key", "secret")
    process(tmp_path, 24, "vim", "vllm", "notes")
    (tmp_path / "25").mkdir()
    assert find_servers(tmp_path) == (
        "vllm serve /models/a",
        "vllm serve",
        "llama-server",
        "sglang.launch_server",
    )


def test_a_box_without_processes(tmp_path: Path) -> None:
    assert find_servers(tmp_path / "none") == ()
