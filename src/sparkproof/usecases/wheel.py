"""Look at the device code of an artifact, and judge it for one device."""

from __future__ import annotations

from collections import Counter

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.observations.device_code import CodeKind, DeviceCode, Entry, Library
from sparkproof.core.ports import Artifact, Progress
from sparkproof.core.report import Report
from sparkproof.core.results.wheel import LibraryRow, LooseRow, WheelResult
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.units import plural
from sparkproof.core.verdict import Verdict, fold
from sparkproof.devicecode.jit import find_jit_parts
from sparkproof.devicecode.judge import find_problems, judge_device_code
from sparkproof.devicecode.routes import route_families
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.usecases.code_reading import read_code
from sparkproof.usecases.envelope import make_report

_VLLM = "vllm/"
_CUDA_PREFIXES = ("libcudart", "libcublas", "libnvrtc", "libcuda.")


def look_at_wheel(
    reference: str,
    *,
    device: str = "gb10",
    archs_only: bool = False,
    target: Target | None = None,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[WheelResult]:
    """Read all device code of a wheel, folder or sdist.

    Args:
        device: whose routes are judged.
        archs_only: list architectures from entry headers alone; nothing is judged.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    hardware = find_device(device)
    subject, artifact = open_artifact(
        reference, target, cache=cache, offline=offline, progress=progress, whole=True
    )
    try:
        code = read_code(artifact, None if archs_only else hardware.capability, progress)
        result = describe_code(artifact, code, None if archs_only else hardware)
    finally:
        artifact.close()
    if archs_only:
        return _listed(subject, code, result)
    vllm = any(member.path.startswith(_VLLM) for member in artifact.members())
    return _judged(subject, code, result, hardware, "where vLLM has some" if vllm else "")


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
    return WheelResult(
        **{name: getattr(result, name) for name in result.__struct_fields__[:6]},
        families=route_families(code, capability),
        compiled_at_run_time=find_jit_parts(artifact.members(), code, capability),
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


def _listed(subject: Subject, code: DeviceCode, result: WheelResult) -> Report[WheelResult]:
    found = sorted(
        {arch for row in result.libraries for arch in row.archs}
        | {row.arch for row in result.loose}
    )
    verdict = Verdict.INCONCLUSIVE if code.unknowns else Verdict.PASS
    return make_report(
        "wheel",
        result,
        verdict=verdict,
        summary=f"{subject.title}: {', '.join(found) or 'no device code'}",
        subjects=(subject,),
        unknowns=code.unknowns,
    )


def _judged(
    subject: Subject, code: DeviceCode, result: WheelResult, hardware: Hardware, if_empty: str
) -> Report[WheelResult]:
    criteria = judge_device_code(code, result.families, hardware.capability, if_empty=if_empty)
    found = (f for f in find_problems(result.families) if f.severity is not Severity.INFO)
    findings = tuple(sorted(found, key=lambda f: f.severity is not Severity.ERROR))
    verdict = fold(item.verdict for item in criteria)
    total = sum(count.kernels for route in result.families for count in route.counts)
    working = sum(route.kernels for route in result.families)
    summary = f"{working:,} of {plural(total, 'kernel')} run on {hardware.title}"
    if not total:
        summary = code.unknowns[0].why if code.unknowns else "holds no kernels"
    compiles = any(part.tools for part in result.compiled_at_run_time)
    if total and not working and not compiles and verdict is Verdict.PASS:
        findings = (_nothing_prebuilt(total, hardware), *findings)
    return make_report(
        "wheel",
        result,
        verdict=verdict,
        summary=f"{subject.title}: {summary}",
        subjects=(subject,),
        criteria=criteria,
        findings=findings,
        unknowns=code.unknowns,
        next_steps=_next(result, verdict),
        facts=(f"hardware/{hardware.id}", "arch_suffixes", "opcodes"),
    )


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


def _next(result: WheelResult, verdict: Verdict) -> tuple[str, ...]:
    if verdict is Verdict.FAIL and any("12" in name for name in result.cuda):
        return ("look for a build of the CUDA 13 line: only there can family code serve 12.1",)
    return ()
