"""Regenerate the shipped surfaces: ``python -m sparkproof.cli.ship_surfaces [VERSION|WHEEL]…``."""

from __future__ import annotations

import sys
from pathlib import Path

import sparkproof.facts
from sparkproof.adapters.progress import make_progress
from sparkproof.usecases.release.ship import ship_surfaces


def main(arguments: list[str]) -> None:
    """Write into the package's own data."""
    folder = Path(sparkproof.facts.__file__).parent / "data" / "vllm_releases"
    ship_surfaces(folder, arguments, progress=make_progress())


if __name__ == "__main__":
    main(sys.argv[1:])
