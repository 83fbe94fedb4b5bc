"""What an image says of itself against what is in it: criteria and findings."""

from __future__ import annotations

from collections.abc import Iterator

from sparkproof.core.finding import Confidence, Evidence, Finding, Severity, worst_first
from sparkproof.core.observations.image import ImageObservation, VllmSeen
from sparkproof.core.verdict import Criterion, Verdict
from sparkproof.facts.image_contents import image_contents
from sparkproof.image.box import MACHINES, box_from_image
from sparkproof.image.track import (
    TagTrack,
    claimed_cuda,
    claimed_version,
    is_development,
    same_version,
)

_FACTS = ("image_contents",)
_MAX_NAMED = 3


def judge_image(image: ImageObservation, platform: str) -> tuple[Criterion, ...]:
    """Can it run there at all, is there a vLLM, is it certain which one.

    Args:
        platform: CPU architecture of the box, as wheels name it.
    """
    return (_platform(image, platform), _vllm(image), _certain(image))


def find_in_image(
    image: ImageObservation, platform: str, cuda_major: str, track: TagTrack
) -> tuple[Finding, ...]:
    """Everything worth saying.

    Args:
        cuda_major: of the CUDA runtime that vLLM's libraries link; "" where none does.
    """
    found = (
        *_platform_findings(image, platform),
        *_vllm_findings(image),
        *_claims(image, track, cuda_major),
        *_cuda(image, cuda_major),
        *_replaced(image),
        *_flashinfer(image),
        *_age(track),
        *_unread(image),
    )
    return worst_first(found)


def _platform(image: ImageObservation, platform: str) -> Criterion:
    machine = MACHINES.get(image.architecture, image.architecture)
    fits = machine == platform and image.os in ("linux", "")
    verdict = Verdict.PASS if fits else Verdict.FAIL
    return Criterion("image/platform", verdict, f"built for {image.os}/{image.architecture}")


def _vllm(image: ImageObservation) -> Criterion:
    copy = image.vllm
    if copy is None and "vllm" in image.installed:
        return Criterion("image/vllm", Verdict.INCONCLUSIVE, _elsewhere(image))
    if copy is None:
        return Criterion("image/vllm", Verdict.FAIL, "no vLLM that its Python would import")
    if not copy.number or (not copy.stamped and len(set(copy.stated)) > 1):
        told = " and ".join(copy.stated)
        reason = f"METADATA says {told}, and it has no stamp" if told else "no version is stated"
        return Criterion("image/vllm", Verdict.INCONCLUSIVE, f"vllm in /{copy.folder}: {reason}")
    return Criterion("image/vllm", Verdict.PASS, f"vllm {_version(copy)} in /{copy.folder}")


def _certain(image: ImageObservation) -> Criterion:
    name = "image/python"
    if len(image.vllms) > 1 and not image.python_certain:
        reason = f"{len(image.vllms)} copies of vLLM, and nothing tells which Python runs"
        return Criterion(name, Verdict.INCONCLUSIVE, reason)
    path = image.python or "unknown interpreter"
    return Criterion(name, Verdict.PASS, f"{path} {image.python_version}: {image.python_told_by}")


def _elsewhere(image: ImageObservation) -> str:
    return f"vllm {image.installed['vllm']} is installed, and no folder of packages holds its files"


def _version(copy: VllmSeen) -> str:
    return copy.number or "of no stated version"


def _finding(
    rule: str,
    severity: Severity,
    message: str,
    *,
    subject: str = "",
    remedy: str = "",
    evidence: tuple[Evidence, ...] = (),
    confidence: Confidence = Confidence.SHOWN,
) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        confidence=confidence,
        message=message,
        subject=subject,
        evidence=evidence,
        remedy=remedy,
        facts=_FACTS,
    )


def _platform_findings(image: ImageObservation, platform: str) -> Iterator[Finding]:
    if MACHINES.get(image.architecture, image.architecture) != platform:
        yield _finding(
            "image/other-platform",
            Severity.ERROR,
            f"built for {image.os}/{image.architecture}, the box is {platform}",
            remedy="look for a tag that lists linux/arm64",
        )


def _vllm_findings(image: ImageObservation) -> Iterator[Finding]:
    if not image.vllms and "vllm" in image.installed:
        yield _finding(
            "image/vllm-elsewhere",
            Severity.WARNING,
            _elsewhere(image),
            remedy="put the folder that it was installed from to the same question: tree:FOLDER",
        )
    elif not image.vllms:
        yield _finding("image/no-vllm", Severity.ERROR, "no folder of packages holds vLLM")
    if len(image.vllms) > 1:
        told = ", ".join(
            f"{_version(copy)} in /{copy.folder}{' (counts)' if copy.judged else ''}"
            for copy in image.vllms
        )
        yield _finding(
            "image/several-vllms",
            Severity.WARNING,
            f"{len(image.vllms)} copies of vLLM: {told}",
            subject=image.python,
            evidence=tuple(
                Evidence(where=f"{c.folder}/vllm/__init__.py", what=f"vllm {_version(c)}")
                for c in image.vllms
            ),
            remedy="start the server with the interpreter that you mean, or remove the other copy",
        )
    copy = image.vllm
    if copy and is_development(_version(copy)):
        commit = f", commit {copy.commit}" if copy.commit else ""
        yield _finding(
            "image/development-build",
            Severity.WARNING,
            f"vllm {_version(copy)} is a development build{commit}: its number names no release",
            evidence=(Evidence(where=f"{copy.folder}/vllm/_version.py", what=copy.stamped),),
            remedy="go by what is read from its own files, here and in `prove`",
        )
    if copy is not None:
        yield from _two_versions(copy)


def _two_versions(copy: VllmSeen) -> Iterator[Finding]:
    stated = dict.fromkeys(copy.stated or (copy.version,))
    stamped = copy.stamped or next(iter(stated))
    if all(not version or same_version(version, stamped) for version in stated):
        return
    own = f"its own _version.py {copy.stamped}, which counts" if copy.stamped else "and no stamp"
    yield _finding(
        "image/two-versions",
        Severity.WARNING,
        f"its METADATA says {' and '.join(stated)}, {own}",
        subject=f"/{copy.folder}",
    )


def _claims(image: ImageObservation, track: TagTrack, cuda_major: str) -> Iterator[Finding]:
    copy = image.vllm
    if copy is None:
        return
    labels = (
        (f"label {key}", image.labels.get(key, "")) for key in image_contents().version_labels
    )
    claims = [(f"tag {track.tag}", claimed_version(track.tag))]
    # A label may speak of the base image: it counts only where it looks like vLLM's own number.
    claims += [(name, claimed_version(text)) for name, text in labels if "vllm" in _title(image)]
    for source, claim in claims:
        if claim and not same_version(claim, _version(copy)):
            yield _finding(
                "image/version-claim",
                Severity.WARNING,
                f"{source} claims {claim}, the vLLM in it is {_version(copy)}",
                subject="vllm",
                remedy="pin the digest, and write down the version that is really in it",
            )
    for source, cuda in (
        (f"tag {track.tag}", claimed_cuda(track.tag)),
        ("CUDA_VERSION of its environment", image.env.get("CUDA_VERSION", "")),
    ):
        if cuda and cuda_major and cuda.partition(".")[0] != cuda_major:
            yield _finding(
                "image/cuda-claim",
                Severity.WARNING,
                f"{source} claims CUDA {cuda}, vLLM's libraries link CUDA {cuda_major}",
                subject="vllm",
                remedy="look for another tag of the same release",
            )


def _title(image: ImageObservation) -> str:
    words = (*image.tags, image.labels.get("org.opencontainers.image.title", ""), image.name)
    return " ".join(words).lower()


def _cuda(image: ImageObservation, cuda_major: str) -> Iterator[Finding]:
    torch = image.torch_cuda.partition(".")[0]
    if torch and cuda_major and torch != cuda_major:
        yield _finding(
            "image/cuda-lines-differ",
            Severity.ERROR,
            f"vLLM's libraries link CUDA {cuda_major}, torch was built for CUDA {image.torch_cuda}",
            subject="torch",
            evidence=(Evidence(where="torch/version.py", what=f"cuda {image.torch_cuda}"),),
            remedy="install torch and vLLM from the same CUDA line",
        )


def _replaced(image: ImageObservation) -> Iterator[Finding]:
    changed = [r for r in image.replaced if r.size_bytes != r.recorded_bytes]
    if not changed:
        return
    named = ", ".join(r.path for r in changed[:_MAX_NAMED])
    more = f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
    step = image.layers[changed[0].layer].command if image.layers else ""
    yield _finding(
        "image/replaced-file",
        Severity.WARNING,
        f"a later layer replaced {named}{more}: not what vLLM's wheel installed",
        subject="vllm",
        evidence=tuple(
            Evidence(
                where=r.path,
                what=f"{r.size_bytes} bytes by layer {r.layer} ({step[:80] or 'no build step'}), "
                f"{r.recorded_bytes} recorded",
            )
            for r in changed
        ),
        remedy="judge this image by its own files, which is what is done here",
    )


def _flashinfer(image: ImageObservation) -> Iterator[Finding]:
    main, cubins = image.package("flashinfer-python"), image.package("flashinfer-cubin")
    if main is None:
        return
    for name in ("flashinfer-cubin", "flashinfer-jit-cache"):
        other = image.package(name)
        if other and not same_version(other.version, main.version):
            yield _finding(
                "image/flashinfer-versions",
                Severity.WARNING,
                f"{name} {other.version} stands beside flashinfer-python {main.version}",
                subject=name,
                remedy=f"install {name}=={main.version}",
            )
    box = box_from_image(image)
    missing = [name for name in ("nvcc", "ninja") if not getattr(box, name)]
    if cubins is None and missing:
        yield _finding(
            "image/flashinfer-without-tools",
            Severity.WARNING,
            f"FlashInfer {main.version} is installed, but {' and '.join(missing)} can't be found: "
            "its kernels can't be compiled",
            subject="flashinfer-python",
            remedy="a -devel image, or the packages that bring them",
        )


def _age(track: TagTrack) -> Iterator[Finding]:
    limit = image_contents().dormant_days
    if track.moving and track.age_days > limit:
        yield _finding(
            "image/dormant-tag",
            Severity.WARNING,
            f"tag {track.tag} is meant to move, and its image is {track.age_days} days old",
            confidence=Confidence.INFERRED,
            remedy="see whether the track is still built, or take a release tag",
        )
    if track.newer:
        yield _finding(
            "image/newer-tag",
            Severity.INFO,
            f"newer on the same track: {', '.join(track.newer)}",
            subject=track.tag,
        )
    if track.moving:
        yield _finding(
            "image/moving-tag",
            Severity.INFO,
            f"tag {track.tag} can be another image tomorrow",
            remedy="deploy by digest",
        )


def _unread(image: ImageObservation) -> Iterator[Finding]:
    for number, layer in enumerate(image.layers):
        if layer.skipped:
            yield _finding(
                "image/layer-told",
                Severity.INFO,
                f"layer {number} was not fetched: {layer.skipped}",
                subject=layer.digest[:19],
                evidence=(Evidence(where=layer.digest, what=layer.command[:120]),),
                confidence=Confidence.INFERRED,
                remedy="--all-layers reads it",
            )
