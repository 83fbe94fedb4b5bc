"""Probes of device code and of the artifact's own files."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sparkproof.claims.material import NO_CODE, NO_FILES, Material, told, untold
from sparkproof.core.claims import Told
from sparkproof.core.condition import Tri
from sparkproof.core.finding import Evidence
from sparkproof.facts.claim_probes import ArchPresent, FamilyRoutes, FilePresent, SourceText


def family_route(material: Material, probe: FamilyRoutes) -> Told:
    """The route of one kernel family."""
    if material.routes is None:
        return untold(NO_CODE)
    found = material.routes.get(probe.family)
    if found is None:
        return untold(f"no kernel of the family {probe.family} is there")
    counts = ", ".join(
        f"{count.kernels} by {count.route.value} {count.arch}".rstrip() for count in found.counts
    )
    seen = f"{found.route.value}" + (f" ({counts})" if counts else "")
    return Told(Tri.of(found.route in probe.expect), seen, found.evidence[:2])


def arch_present(material: Material, probe: ArchPresent) -> Told:
    """Labels of machine code and PTX."""
    if material.archs is None:
        return untold(NO_CODE)
    found = sorted(label for label in material.archs if fnmatchcase(label, probe.pattern))
    everything = ", ".join(sorted(material.archs))
    return told(bool(found), probe.expect, ", ".join(found), f"none; there are {everything}")


def file_present(material: Material, probe: FilePresent) -> Told:
    """Paths of members."""
    if material.artifact is None:
        return untold(NO_FILES)
    found = next((path for path in material.paths if fnmatchcase(path, probe.pattern)), "")
    return told(bool(found), probe.expect, found, f"no file {probe.pattern}")


def source_text(material: Material, probe: SourceText) -> Told:
    """Text of members, blanks folded."""
    if material.artifact is None:
        return untold(NO_FILES)
    paths = [
        path
        for short, path in material.paths.items()
        if any(fnmatchcase(short, pattern) for pattern in probe.members)
    ]
    if not paths:
        return untold(f"no file {' or '.join(probe.members)} in this artifact")
    wanted = " ".join(probe.text.split())
    holder = next((path for path in paths if wanted in material.text(path)), "")
    place = Evidence(where=holder or paths[0], what=probe.text[:120])
    return told(bool(holder), probe.expect, f"`{wanted}`", f"nowhere `{wanted}`", place)
