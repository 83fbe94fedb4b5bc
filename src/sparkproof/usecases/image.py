"""Look into a container image, and compare two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.clock import SystemClock
from sparkproof.adapters.image import ImageArtifact
from sparkproof.adapters.image_engine import Engine
from sparkproof.adapters.observation_cache import ObservationCache
from sparkproof.adapters.open_image import identify_image, open_image
from sparkproof.core.errors import FormatError, UnreachableError, UsageError
from sparkproof.core.finding import Finding, Severity
from sparkproof.core.image_name import ImageName, parse_image_name
from sparkproof.core.observations.device_code import DeviceCode
from sparkproof.core.observations.image import ImageObservation
from sparkproof.core.ports import Clock, Progress
from sparkproof.core.refs import Ref, RefKind, parse_ref
from sparkproof.core.report import Report
from sparkproof.core.results.image import Change, ImageDiffResult, ImageResult
from sparkproof.core.results.wheel import WheelResult
from sparkproof.core.subject import Subject
from sparkproof.core.target import Target
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, fold
from sparkproof.devicecode.inventory import read_device_code
from sparkproof.devicecode.judge import find_problems, judge_device_code
from sparkproof.facts.book import find_device
from sparkproof.facts.schema import Hardware
from sparkproof.image.box import box_from_image
from sparkproof.image.judge import find_in_image, judge_image
from sparkproof.image.observe import observe_image
from sparkproof.image.track import TagTrack, follow_track
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.wheel import describe_code

_RUNTIME = re.compile(r"libcudart\.so\.(\d+)\Z")
_PACKAGE = "vllm/"


class _Reading(msgspec.Struct, frozen=True):
    image: ImageObservation
    code: DeviceCode
    described: WheelResult
    unknowns: tuple[Unknown, ...]


class Seen:
    """One image, read and judged."""

    def __init__(self, subject: Subject, result: ImageResult) -> None:
        self.subject = subject
        self.result = result
        self.criteria: tuple[Criterion, ...] = ()
        self.findings: tuple[Finding, ...] = ()
        self.unknowns: tuple[Unknown, ...] = ()


def look_at_image(
    reference: str,
    *,
    device: str = "gb10",
    target: Target | None = None,
    all_layers: bool = False,
    offline: bool = False,
    progress: Progress | None = None,
    engine: Engine | None = None,
    clock: Clock | None = None,
    cache: ArtifactCache | None = None,
) -> Report[ImageResult]:
    """Say what is really in an image.

    Args:
        reference: as `open_image` takes it, with or without ``image:``.
        device: whose routes are judged.
        all_layers: fetch those layers too whose build step tells what they hold.
        cache: where what was read of the same image before is found; None reads it each time.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    hardware = find_device(device)
    seen = _look(
        reference,
        hardware,
        (target or Target()).check(),
        (clock or SystemClock()).now(),
        all_layers=all_layers,
        offline=offline,
        progress=progress,
        engine=engine,
        cache=cache,
    )
    return make_report(
        "image show",
        seen.result,
        verdict=fold(item.verdict for item in seen.criteria),
        summary=_summary(seen.result),
        clock=clock,
        subjects=(seen.subject,),
        criteria=seen.criteria,
        findings=seen.findings,
        unknowns=seen.unknowns,
        next_steps=_next(seen.result),
        facts=(f"hardware/{hardware.id}", "image_contents", "arch_suffixes"),
    )


def compare_images(
    before: str,
    after: str,
    *,
    device: str = "gb10",
    target: Target | None = None,
    all_layers: bool = False,
    offline: bool = False,
    progress: Progress | None = None,
    engine: Engine | None = None,
    clock: Clock | None = None,
    cache: ArtifactCache | None = None,
) -> Report[ImageDiffResult]:
    """What changes from one image to another; the verdict is the second one's.

    Raises:
        UsageError, UnreachableError, FormatError: as they say.
    """
    hardware = find_device(device)
    now = (clock or SystemClock()).now()
    first, second = (
        _look(
            reference,
            hardware,
            (target or Target()).check(),
            now,
            all_layers=all_layers,
            offline=offline,
            progress=progress,
            engine=engine,
            cache=cache,
        )
        for reference in (before, after)
    )
    changes = tuple(_changes(first.result, second.result))
    same = first.subject.same_as(second.subject)
    count = f"{len(changes)} change{'' if len(changes) == 1 else 's'}"
    return make_report(
        "image diff",
        ImageDiffResult(first.result, second.result, changes),
        verdict=fold(item.verdict for item in second.criteria),
        summary="both are the same image" if same else f"{count}; {_summary(second.result)}",
        clock=clock,
        subjects=(first.subject, second.subject),
        criteria=second.criteria,
        findings=second.findings,
        unknowns=(*first.unknowns, *second.unknowns),
        facts=(f"hardware/{hardware.id}", "image_contents", "arch_suffixes"),
    )


def _look(
    reference: str,
    hardware: Hardware,
    target: Target,
    now: datetime,
    *,
    all_layers: bool,
    offline: bool,
    progress: Progress | None,
    engine: Engine | None,
    cache: ArtifactCache | None,
) -> Seen:
    ref = parse_ref(reference, RefKind.IMAGE)
    artifact = open_image(
        ref, target, progress=progress, offline=offline, all_layers=all_layers, engine=engine
    )
    try:
        read = _read(ref, artifact, hardware, all_layers, cache)
        observation, code = read.image, read.code
        name, listed, troubles = _names(ref, artifact, observation)
    finally:
        artifact.close()
    tag = name.tag if name else ""
    track = follow_track(tag, observation.created, now, listed)
    cuda = _cuda(code)
    copy = observation.vllm
    result = ImageResult(
        image=observation,
        pin=_pin(name, observation),
        box=box_from_image(observation),
        cuda=cuda,
        code=read.described,
        tag=tag,
        moving=track.moving,
        age_days=track.age_days,
        newer=track.newer,
    )
    version = copy.number if copy else ""
    seen = Seen(identify_image(ref, artifact, name="vllm" if copy else "", version=version), result)
    _judge(seen, code, hardware, target, track)
    seen.unknowns = (*troubles, *read.unknowns, *code.unknowns)
    return seen


def _read(
    ref: Ref,
    artifact: ImageArtifact,
    hardware: Hardware,
    all_layers: bool,
    cache: ArtifactCache | None,
) -> _Reading:
    """What one pass over the layers gives, or what it gave before of the same image."""
    source = artifact.source
    if cache is None or not source.ordered:  # a stream names its image when it has passed
        return _pass_over(artifact, hardware)
    parts = source.parts()
    places = [parts.manifest_digest, parts.index_digest, artifact.name, list(parts.tags)]
    asked = [hardware.id, all_layers, source.remote, *places]
    memory = ObservationCache(cache, identify_image(ref, artifact))
    return memory.recall(_Reading, asked, lambda: _pass_over(artifact, hardware))


def _pass_over(artifact: ImageArtifact, hardware: Hardware) -> _Reading:
    code = read_device_code(artifact, hardware.capability)
    image = observe_image(artifact.contents(), artifact.name)
    return _Reading(image, code, describe_code(artifact, code, hardware), artifact.unknowns())


def _judge(
    seen: Seen, code: DeviceCode, hardware: Hardware, target: Target, track: TagTrack
) -> None:
    result = seen.result
    families = result.code.families
    seen.criteria = (
        *judge_image(result.image, target.platform),
        *judge_device_code(
            code, families, hardware.capability, if_empty="where an image of vLLM has some"
        ),
    )
    problems = [f for f in find_problems(families) if f.severity is not Severity.INFO]
    found = find_in_image(result.image, target.platform, result.cuda, track)
    seen.findings = (*found, *problems)


def _names(
    ref: Ref, artifact: ImageArtifact, observation: ImageObservation
) -> tuple[ImageName | None, tuple[str, ...], tuple[Unknown, ...]]:
    """The image's name, and the tags beside it where a registry lists them."""
    from sparkproof.adapters.registry import RegistryImage  # noqa: PLC0415 - HTTP

    source = artifact.source
    if not isinstance(source, RegistryImage):
        return _saved_name(observation.tags), (), ()
    try:
        return source.image, source.tags(), ()
    except (UnreachableError, FormatError) as error:
        why = f"its tags can't be listed: {error.message}"
        return source.image, (), (Unknown(where=ref.display, why=why, topic="image/track"),)


def _saved_name(tags: tuple[str, ...]) -> ImageName | None:
    for tag in tags:
        try:
            return parse_image_name(tag)
        except UsageError:
            continue
    return None


def _pin(name: ImageName | None, observation: ImageObservation) -> str:
    digest = observation.index_digest or observation.manifest_digest
    return name.pinned(digest) if name and digest else digest


def _cuda(code: DeviceCode) -> str:
    """Major of the CUDA runtime that vLLM's own libraries link; the highest where they differ."""
    found = {
        match[1]
        for library in code.libraries
        if library.path.startswith(_PACKAGE)
        for needed in library.needed
        if (match := _RUNTIME.match(needed))
    }
    return max(found, key=int, default="")


def _summary(result: ImageResult) -> str:
    copy = result.image.vllm
    if copy is None:
        installed = result.image.installed.get("vllm")
        absent = f"vllm {installed} is installed, its files are not found" if installed else ""
        return f"{result.image.name}: {absent or 'no vLLM in it'}"
    parts = [f"vllm {copy.number or 'of no stated version'}"]
    if result.cuda:
        parts.append(f"CUDA {result.cuda}")
    total = sum(count.kernels for route in result.code.families for count in route.counts)
    working = sum(route.kernels for route in result.code.families)
    runs = f"{working:,} of {total:,} kernels run on {result.code.device}"
    parts.append(runs if total else "no kernels in it")
    return f"{result.image.name}: {', '.join(parts)}"


def _next(result: ImageResult) -> tuple[str, ...]:
    return (f"deploy by digest: {result.pin}",) if result.pin and result.tag else ()


def _changes(before: ImageResult, after: ImageResult) -> Iterator[Change]:
    for what, rows in (
        ("image", _image_rows),
        ("package", _package_rows),
        ("tool", _tool_rows),
        ("family", _family_rows),
        ("environment", _environment_rows),
    ):
        old, new = rows(before), rows(after)
        for name in sorted({*old, *new}):
            if old.get(name, "") != new.get(name, ""):
                yield Change(what, name, old.get(name, ""), new.get(name, ""))


def _image_rows(result: ImageResult) -> dict[str, str]:
    image = result.image
    return {
        "created": image.created,
        "cuda": result.cuda,
        "torch cuda": image.torch_cuda,
        "python": f"{image.python} {image.python_version}".strip(),
        "distribution": image.distribution,
        "architecture": image.architecture,
        "entrypoint": " ".join((*image.entrypoint, *image.cmd)),
        "replaced files": ", ".join(item.path for item in image.replaced),
    }


def _package_rows(result: ImageResult) -> dict[str, str]:
    copy = result.image.vllm
    own = {"vllm": copy.number} if copy is not None else {}
    return {**result.image.installed, **own}


def _tool_rows(result: ImageResult) -> dict[str, str]:
    return {
        tool.name: tool.version or ("there" if tool.reachable else "not on the path")
        for tool in result.image.tools
    }


def _family_rows(result: ImageResult) -> dict[str, str]:
    return {
        family.family: f"{family.route.value}, {family.kernels} kernels"
        for family in result.code.families
    }


def _environment_rows(result: ImageResult) -> dict[str, str]:
    return result.image.env
