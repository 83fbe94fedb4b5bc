"""Time and memory of reading a release, beside parsing all of its Python files.

    python benchmarks/release.py WHEEL [WHEEL …]

Each measurement runs in a process of its own, in seconds of its processor time. A shipped
surface is loaded as a command does: from nothing to the decoded surface.
"""

from __future__ import annotations

import ast
import json
import resource
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

_PEAK_LIMIT_MIB = 300
_SHIPPED_LIMIT_S = 0.3


def _surface(path: str) -> int:
    from sparkproof.adapters.open_artifact import open_artifact  # noqa: PLC0415
    from sparkproof.release import read_surface  # noqa: PLC0415

    _, artifact = open_artifact(path, offline=True)
    try:
        return len(read_surface(artifact).messages)
    finally:
        artifact.close()


def _parse_all(path: str) -> int:
    warnings.simplefilter("ignore")
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if name.endswith(".py")]
        return sum(len(ast.parse(wheel.read(name)).body) for name in names)


def _shipped(version: str) -> int:
    from sparkproof.facts.surfaces import load_surface  # noqa: PLC0415

    return len(load_surface(version).options)


_JOBS: dict[str, Callable[[str], int]] = {
    "surface": _surface,
    "parse": _parse_all,
    "shipped": _shipped,
}


def _alone(job: str, argument: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--job", job, argument]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout), "process_s": round(used_s, 3)}


def _job(job: str, argument: str) -> None:
    started = time.process_time()
    items = _JOBS[job](argument)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    found = {
        "cpu_s": round(time.process_time() - started, 3),
        "peak_mib": usage.ru_maxrss // 1024,
        "items": items,
    }
    print(json.dumps(found))


def main(wheels: list[str]) -> int:
    failed = False
    for path in wheels:
        version = Path(path).name.split("-")[1]
        ours, parsing = _alone("surface", path), _alone("parse", path)
        print(f"{version}: surface {ours['cpu_s']} s CPU, {ours['peak_mib']} MiB; ", end="")
        print(f"parsing all files {parsing['cpu_s']} s CPU, {parsing['peak_mib']} MiB")
        shipped = _alone("shipped", version)
        print(
            f"  shipped: {shipped['cpu_s']} s CPU, {shipped['process_s']} s with Python's own start"
        )
        failed |= ours["cpu_s"] > parsing["cpu_s"] or ours["peak_mib"] > _PEAK_LIMIT_MIB
        failed |= shipped["process_s"] > _SHIPPED_LIMIT_S
    print("over a limit" if failed else "within the limits")
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        _job(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main(sys.argv[1:]))
