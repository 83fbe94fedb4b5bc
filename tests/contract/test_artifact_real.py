"""The real wheel: our own reading agrees with the standard library's, in flat memory."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkproof.adapters.zip_artifact import open_wheel

pytestmark = pytest.mark.artifact

REQUIREMENT = "vllm==0.33.0"
_PROC = Path("/proc/self/status")
_MEASURE = """
import re, sys
from pathlib import Path
from sparkproof.adapters.zip_artifact import open_wheel

def peak_kib():
    return re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]

artifact = open_wheel(Path(sys.argv[1]))
before = peak_kib()
for member in artifact.members():
    if member.path.endswith(".so"):
        for _ in artifact.stream(member.path):
            pass
print(before, peak_kib())
"""


def test_members_and_a_sample_of_contents(real_wheel: Callable[..., Path]) -> None:
    path = real_wheel(REQUIREMENT)
    artifact = open_wheel(path)
    with zipfile.ZipFile(path) as archive:
        infos = {i.filename: i for i in archive.infolist() if not i.is_dir()}
        assert {m.path: m.size_bytes for m in artifact.members()} == {
            name: info.file_size for name, info in infos.items()
        }
        for name in sorted(infos)[::100]:
            ours = hashlib.sha256(artifact.read(name, limit_bytes=1 << 30)).digest()
            assert ours == hashlib.sha256(archive.read(name)).digest()
    artifact.close()


@pytest.mark.skipif(not _PROC.exists(), reason="peak memory is read from /proc")
def test_streaming_takes_a_flat_amount_of_memory(real_wheel: Callable[..., Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(real_wheel(REQUIREMENT))],
        capture_output=True,
        text=True,
        check=True,
    )
    before_kib, after_kib = map(int, done.stdout.split())
    # One library of this wheel inflates to over 100 MiB; what a buffer takes varies by a few MiB.
    assert after_kib - before_kib < 16 * 1024
    assert after_kib < 64 * 1024
