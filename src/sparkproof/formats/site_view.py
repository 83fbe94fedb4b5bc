"""The folders of packages as Python sees them: the first that has a name wins."""

from __future__ import annotations

import re
from typing import NamedTuple

from sparkproof.formats.layer_merge import LayerStack, Placed
from sparkproof.formats.python_sites import PythonView

_INFO = re.compile(r"(?P<name>[^/]+?)-[^/-]*(?:-[^/]*)?\.(?:dist|egg)-info\Z")


class SiteFile(NamedTuple):
    """A file of a package: where it lies from the image's root."""

    path: str
    placed: Placed


def view_sites(
    stack: LayerStack, python: PythonView
) -> tuple[dict[str, SiteFile], dict[str, tuple[str, ...]]]:
    """Files by their path below the folders of packages, in the order of paths.

    Returns:
        The files, and the names that stand in several folders, each with all of them.
    """
    found: dict[str, SiteFile] = {}
    owners: dict[str, list[str]] = {}
    for site in python.sites:
        prefix = f"{site}/"
        for path, placed in stack.files.items():
            if not path.startswith(prefix):
                continue
            inside = path[len(prefix) :]
            name = _owner(inside)
            folders = owners.setdefault(name, [site])
            if site not in folders:
                folders.append(site)
            if folders[0] == site:
                found.setdefault(inside, SiteFile(path, placed))
    doubles = {name: tuple(folders) for name, folders in owners.items() if len(folders) > 1}
    return dict(sorted(found.items())), doubles


def _owner(inside: str) -> str:
    """What is looked up as one: a package, or a distribution whatever its version."""
    top = inside.split("/", 1)[0]
    info = _INFO.match(top)
    return f"{re.sub(r'[-_.]+', '_', info['name']).lower()}.dist-info" if info else top
