"""Look at the device code of an artifact, and judge it for one device."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.delivery import Alternative
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.device_code import CodeKind, DeviceCode, Entry, Library
from sparkproof.core.ports import Artifact, Member, Progress
from sparkproof.core.refs import RefKind
from sparkproof.core.report import Report
from sparkproof.core.results.wheel import LibraryRow, LooseRow, WheelResult
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.units import plural
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Verdict, fold
from sparkproof.devicecode.alternatives import choose_alternatives
from sparkproof.devicecode.jit import find_jit_parts
from sparkproof.devicecode.judge import find_problems, judge_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.formats.device_scan import TOPIC
from sparkproof.usecases.code_reading import read_code
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.other_platform import cpu_of, find_other_platform
from sparkproof.usecases.prove.arguments import as_criterion

_VLLM = "vllm/"
_WHEEL, _ANY = ".whl", "-any"
_USUAL = "aarch64"
"""CPU of a box of which nothing is said: this program is about the DGX Spark."""
_SHOWN = 3
_CUDA_13 = ".so.13"
_CUDA_PREFIXES = ("libcudart", "libcublas", "libnvrtc", "libcuda.")


def look_at_wheel(
    reference: str,
    *,
    device: str = "gb10",
    archs_only: bool = False,
    platform: str = "",
    python: str = "3.12",
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[WheelResult]:
    """Read all device code of a wheel, folder or sdist.

    Args:
        device: whose routes are judged.
        archs_only: list architectures from entry headers alone; nothing is judged.
        platform: CPU of the box; "" for that of the device, where its kind has but one.
        python: on the box.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    hardware = find_device(device)
    target = Target(platform=platform or cpu_of(hardware) or _USUAL, python=python)
    subject, artifact = open_artifact(
        reference, target, cache=cache, offline=offline, progress=progress, whole=True
    )
    try:
        code = read_code(artifact, None if archs_only else hardware.capability, progress)
        result = describe_code(artifact, code, None if archs_only else hardware)
    finally:
        artifact.close()
    looked = _Looked(subject, code, result, artifact.members())
    if archs_only:
        return _listed(looked)
    return _judged(looked, hardware, find_other_platform(subject, platform or cpu_of(hardware)))


class _Looked(NamedTuple):
    """What was seen of one artifact."""

    subject: Subject
    code: DeviceCode
    result: WheelResult
    members: Sequence[Member]

    @property
    def if_empty(self) -> str:
        """Why an artifact without kernels tells nothing; "" for one that says it has none."""
        if any(member.path.startswith(_VLLM) for member in self.members):
            return "where vLLM has some"
        pure = self.subject.tags and all(tag.endswith(_ANY) for tag in self.subject.tags)
        return "" if pure or self.compiles else "so there is nothing to judge"

    @property
    def compiles(self) -> bool:
        """Whether it compiles at run time what it does not bring."""
        return any(part.tools for part in self.result.compiled_at_run_time)

    @property
    def wheels(self) -> tuple[str, ...]:
        """Wheels that lie in a folder that holds nothing else, as they are typed."""
        found = [member.path for member in self.members if member.path.endswith(_WHEEL)]
        if self.subject.kind is not RefKind.TREE or self.code.libraries or self.code.loose:
            return ()
        folder = self.subject.ref.removeprefix("tree:").rstrip("/")
        return tuple(f"{folder}/{path}" for path in sorted(found))

    @property
    def unknowns(self) -> tuple[Unknown, ...]:
        """What could not be read, and wheels in a folder, which are not looked into."""
        if not self.wheels:
            return self.code.unknowns
        why = f"holds {plural(len(self.wheels), 'wheel')}, and none of them was opened"
        told = Unknown(self.subject.ref, why, topic=TOPIC, hint="name one of them")
        return (*self.code.unknowns, told)


def describe_code(artifact: Artifact, code: DeviceCode, hardware: Hardware | None) -> WheelResult:
    """Rows of what was read, and for a device its routes."""
    holding = [library for library in code.libraries if library.containers]
    needed = {name for library in code.libraries for name in library.needed}
    toolkits = {library.toolkit for library in holding} | {item.toolkit for item in code.loose}
    result = WheelResult(
        device=hardware.title if hardware else "",
        capability=str(hardware.capability) if hardware else "",
        cuda=tuple(sorted(name for name in needed if name.startswith(_CUDA_PREFIXES))),
        toolkits=tuple(sorted(toolkits - {""})),
        libraries=tuple(map(_library_row, holding)),
        loose=_loose_rows(code),
    )
    if hardware is None:
        return result
    capability = hardware.capability
    counted, alternatives = choose_alternatives(code, capability)
    return msgspec.structs.replace(
        result,
        families=route_families(counted, capability),
        compiled_at_run_time=find_jit_parts(artifact.members(), code, capability),
        alternatives=alternatives,
    )


def label(entry: Entry) -> str:
    """``sm_120f``, ``compute_80`` or ``lto_90``."""
    prefix = {CodeKind.CUBIN: "sm", CodeKind.PTX: "compute", CodeKind.LTO_IR: "lto"}[entry.kind]
    return f"{prefix}_{entry.arch.short}"


def _library_row(library: Library) -> LibraryRow:
    loaded = [e for c in library.containers if not c.relocatable for e in c.entries]
    linked = [e for c in library.containers if c.relocatable for e in c.entries]
    return LibraryRow(
        path=library.path,
        size_bytes=library.size_bytes,
        containers=len(library.containers),
        archs=dict(sorted(Counter(map(label, loaded)).items())),
        relocatable=dict(sorted(Counter(map(label, linked)).items())),
        form=library.form.value,
        toolkit=library.toolkit,
        needed=tuple(name for name in library.needed if name.startswith(_CUDA_PREFIXES)),
    )


def _loose_rows(code: DeviceCode) -> tuple[LooseRow, ...]:
    counted = Counter(
        (item.path.rpartition("/")[0].split("/", 1)[0], label(item.entry)) for item in code.loose
    )
    return tuple(LooseRow(folder, arch, n) for (folder, arch), n in sorted(counted.items()))


def _listed(looked: _Looked) -> Report[WheelResult]:
    subject, result = looked.subject, looked.result
    found = sorted(
        {arch for row in result.libraries for arch in row.archs}
        | {row.arch for row in result.loose}
    )
    nothing = not found and looked.if_empty
    verdict = Verdict.INCONCLUSIVE if looked.unknowns or nothing else Verdict.PASS
    return make_report(
        "wheel",
        result,
        verdict=verdict,
        summary=f"{subject.title}: {', '.join(found) or 'no device code'}",
        subjects=(subject,),
        unknowns=looked.unknowns,
        next_steps=_next(looked, verdict),
    )


def _judged(
    looked: _Looked, hardware: Hardware, elsewhere: tuple[Finding, ...]
) -> Report[WheelResult]:
    """`elsewhere`: that it is built for another CPU than the box has."""
    subject, code, result = looked.subject, looked.code, looked.result
    criteria = (
        *map(as_criterion, elsewhere),
        *judge_device_code(
            code,
            result.families,
            hardware.capability,
            if_empty=looked.if_empty,
            compiled=looked.compiles,
        ),
    )
    problems = (f for f in find_problems(result.families) if f.severity is not Severity.INFO)
    found = (*elsewhere, *find_useless_alternatives(result.alternatives, hardware), *problems)
    findings = tuple(sorted(found, key=lambda f: f.severity is not Severity.ERROR))
    verdict = fold(item.verdict for item in criteria)
    total = sum(count.kernels for route in result.families for count in route.counts)
    working = sum(route.kernels for route in result.families)
    chosen = [item for item in result.alternatives if item.counted]
    through = f" through {_file(chosen[0])}" if len(chosen) == 1 else ""
    summary = f"{working:,} of {plural(total, 'kernel')} run on {hardware.title}{through}"
    if not total:
        summary = looked.unknowns[0].why if looked.unknowns else "holds no kernels"
    if elsewhere:
        summary = elsewhere[0].message
    if total and not working and not looked.compiles and verdict is Verdict.INCONCLUSIVE:
        findings = (_nothing_prebuilt(total, hardware), *findings)
    return make_report(
        "wheel",
        result,
        verdict=verdict,
        summary=f"{subject.title}: {summary}",
        subjects=(subject,),
        criteria=criteria,
        findings=findings,
        unknowns=looked.unknowns,
        next_steps=() if elsewhere else _next(looked, verdict),
        facts=(f"hardware/{hardware.id}", "arch_suffixes", "opcodes"),
    )


def find_useless_alternatives(
    alternatives: Sequence[Alternative], hardware: Hardware
) -> Iterator[Finding]:
    """Groups in which another library than the counted one would serve the device with nothing."""
    for best in (item for item in alternatives if item.counted):
        others = [item for item in alternatives if item.group == best.group]
        useless = [_file(item) for item in others if not item.working]
        if not useless or not best.working:
            continue
        yield Finding(
            rule="deliver/one-of-several",
            severity=Severity.WARNING,
            confidence=Confidence.SHOWN,
            message=f"one of {len(others)} libraries is loaded, by {best.chosen_by}: "
            f"{', '.join(useless)} have nothing for {hardware.capability}",
            subject=_file(best),
            remedy=f"run it where {_file(best)} is loaded",
        )


def _file(item: Alternative) -> str:
    return item.library.rpartition("/")[2]


def _nothing_prebuilt(total: int, hardware: Hardware) -> Finding:
    return Finding(
        rule="deliver/nothing-prebuilt",
        severity=Severity.WARNING,
        confidence=Confidence.SHOWN,
        message=f"none of the {total:,} prebuilt kernels is for {hardware.capability}: "
        "what needs them is compiled at first use, or missing",
        subject="loose files",
        remedy="count on nvcc and ninja where it runs, not on this package",
    )


def _next(looked: _Looked, verdict: Verdict) -> tuple[str, ...]:
    if looked.wheels:
        return tuple(f"sparkproof wheel {shlex.quote(path)}" for path in looked.wheels[-_SHOWN:])
    cuda = looked.result.cuda
    newer = any(_CUDA_13 in name for name in cuda)
    if verdict is Verdict.FAIL and not newer and any("12" in name for name in cuda):
        return ("look for a build of the CUDA 13 line: only there can family code serve 12.1",)
    return ()
