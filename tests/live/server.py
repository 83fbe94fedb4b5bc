"""Start a real vLLM server for CPUs on an empty checkpoint and read its cache figures."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

READY_S = 300
_LINE = re.compile(r"KV cache size: ([\d,]+) tokens, Maximum concurrency for [\d,]+ tokens"
                   r" per request: ([\d.]+)x")  # fmt: skip
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Figures(msgspec.Struct, frozen=True):
    """What one boot printed and published."""

    tokens: int
    concurrency: str
    info: dict[str, str]


def vllm_environment() -> Path | None:
    """The environment of the live tier: ``SPARKPROOF_LIVE_ENV``, or ``.venv-live`` here."""
    given = os.environ.get("SPARKPROOF_LIVE_ENV")
    folder = Path(given) if given else Path(__file__).parents[2] / ".venv-live"
    return folder if (folder / "bin" / "vllm").exists() else None


def boot(environment: Path, config: Path, args: Sequence[str]) -> Figures:
    """Boot on dummy weights with a pool of 1 GiB; the log line and ``vllm:cache_config_info``."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        folder.mkdir()
        (folder / "config.json").write_bytes(config.read_bytes())
        log = Path(scratch) / "log"
        port = free_port()
        with _server(environment, folder, args, port, log) as process:
            text = metrics_of(process, port, log)
        match = _LINE.search(log.read_text())
        if match is None:
            raise AssertionError("the boot log has no line about the pool")
        line = next(item for item in text.splitlines() if item.startswith("vllm:cache_config_info"))
        return Figures(int(match[1].replace(",", "")), match[2], dict(_LABEL.findall(line)))


@contextmanager
def _server(
    environment: Path, folder: Path, args: Sequence[str], port: int, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    command = [
        str(environment / "bin" / "vllm"), "serve", str(folder), "--host", "127.0.0.1",
        "--port", str(port), "--enforce-eager", "--load-format", "dummy", "--skip-tokenizer-init",
        *args,
    ]  # fmt: skip
    quiet = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "OMP_NUM_THREADS": "1",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, **quiet},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            stop_server(process)


def stop_server(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def metrics_of(process: subprocess.Popen[bytes], port: int, log: Path) -> str:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"vLLM ended: {log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as found:
                text: str = found.read().decode()
                return text
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(1)
    raise AssertionError(f"not ready after {READY_S} s: {log.read_text()[-2000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
