"""Real vLLM servers for the gates: our own small checkpoint, trained well, a little, or not."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.live.server import free_port, metrics_of, stop_server

TRAINED = Path(__file__).parents[1] / "data" / "tiny-qwen3"
MAKER = Path(__file__).with_name("make_model.py")
PARSERS = (
    "--reasoning-parser",
    "qwen3",
    "--enable-auto-tool-choice",
    "--tool-call-parser",
    "hermes",
)
NGRAM = (
    "--speculative-config",
    (
        '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4, '
        '"prompt_lookup_min": 2}'
    ),
)
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
}


class Live(NamedTuple):
    """A running server; its process leads a group of its own."""

    url: str
    log: Path
    pid: int

    def engine(self) -> int:
        """The process of the engine core, which is not the one that answers HTTP."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes()
                group = os.getpgid(int(entry.name))
            except OSError:
                continue
            if group == self.pid and b"EngineCore" in words:
                return int(entry.name)
        raise AssertionError("no engine core in the server's process group")


def make_model(environment: Path, folder: Path, steps: int) -> Path:
    """A checkpoint trained for so many steps."""
    subprocess.run(
        [str(environment / "bin" / "python"), str(MAKER), str(folder), str(steps)],
        env={**os.environ, **QUIET},
        check=True,
        capture_output=True,
        timeout=1800,
    )
    return folder


@contextmanager
def serving(
    environment: Path, folder: Path, args: Sequence[str] = (), *, release: Path | None = None
) -> Iterator[Live]:
    """A server, until the block ends.

    Args:
        release: a folder with another vLLM, put before the environment's own.
    """
    port = free_port()
    ahead = {"PYTHONPATH": str(release)} if release else {}
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "server.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [
                    *(str(environment / "bin" / "vllm"), "serve", str(folder)),
                    *("--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)),
                    *("--max-model-len", "1024", "--enforce-eager", *args),
                ],
                env={**os.environ, **QUIET, **ahead},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                metrics_of(process, port, log)
                yield Live(f"http://127.0.0.1:{port}", log, process.pid)
            finally:
                stop_server(process)
