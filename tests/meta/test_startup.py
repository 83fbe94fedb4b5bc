"""``--help`` is quick and imports nothing that is only needed to answer."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

HEAVY = (
    "asyncio",
    "elftools",
    "httpx2",
    "isal",
    "lz4",
    "multiprocessing",
    "packaging",
    "pip",
    "platformdirs",
    "rich",
    "tomli_w",
    "zstandard",
)
_HELP = "import sys; sys.argv = ['sparkproof', '--help']\nfrom sparkproof.cli.main import main\n"
_LOADED = _HELP + (
    "try:\n    main()\nexcept SystemExit:\n    pass\n"
    "print(*(n for n in {names} if n in sys.modules), file=sys.stderr)"
)


def _run(code: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)


def test_help_imports_nothing_heavy() -> None:
    assert _run(_LOADED.format(names=HEAVY)).stderr.split() == []


def _seconds(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_takes_at_most_three_times_as_long_as_importing_click() -> None:
    # The machine is shared: CPU time, interleaved, medians, and a second chance.
    # benchmarks/startup.py has the number to quote.
    for _ in range(3):
        pairs = [(_seconds("import click"), _seconds(_HELP + "main()")) for _ in range(7)]
        click, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
        if ours <= 3 * click:
            return
    raise AssertionError(f"{ours:.3f} s against {click:.3f} s")
