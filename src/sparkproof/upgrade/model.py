"""Whether a release still knows the model, its format, and the Python and packages of the box."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from sparkproof.core.finding import Confidence
from sparkproof.core.observations.release_parts import ModelEntry
from sparkproof.core.observations.release_surface import ReleaseSurface
from sparkproof.core.results.upgrade import Bite, Change
from sparkproof.upgrade.view import Case

_SURFACE = "release surface"
_REMEMBERED = ("removed", "plugin")
_GENERIC = "transformers-backend"


def compare_model(case: Case) -> Iterator[tuple[bool, Change]]:
    """Architecture, quantization name, Python and stated packages.

    Yields:
        Whether it is news, and the change.
    """
    yield from _architecture(case)
    yield from _quantization(case)
    yield from _python(case)
    yield from _packages(case)


def _entry(case: Case, surface: ReleaseSurface) -> ModelEntry | None:
    """The registry's row for the first of the checkpoint's architectures that it has."""
    found = (
        item
        for name in case.model.architectures
        for item in surface.models
        if item.architecture == name
    )
    return next(found, None)


def _architecture(case: Case) -> Iterator[tuple[bool, Change]]:
    before, after = case.before.surface, case.after.surface
    if not (case.model.architectures and after.models):
        return
    old, new = _entry(case, before), _entry(case, after)
    name = case.model.architectures[0]
    if old is None and new is None and before.models:
        return  # what stands in for it today, if anything does, stands in then
    if new is None or new.kind in _REMEMBERED:
        knew = old is not None and old.kind not in _REMEMBERED
        note = f" ({new.kind}: {new.note})" if new is not None and new.note else ""
        yield (
            knew or not before.models,
            Change(
                bite=Bite.WONT_START,
                subject=name,
                message=f"vllm {after.version} does not know the architecture{note}, unless "
                "Transformers can stand in for it",
                rests_on=_SURFACE,
                before=old.implementation if old is not None else "",
                after="unknown",
                confidence=Confidence.SHOWN if new is not None else Confidence.INFERRED,
            ),
        )
    elif old is not None and new.kind != old.kind and _GENERIC in (new.kind, old.kind):
        yield (
            True,
            Change(
                bite=Bite.BEHAVIOUR,
                subject=name,
                message="the model is run by another implementation",
                rests_on=_SURFACE,
                before=f"{old.implementation} ({old.kind})",
                after=f"{new.implementation} ({new.kind})",
                evidence=(new.source.evidence(f"registers {name}"),),
            ),
        )


def _quantization(case: Case) -> Iterator[tuple[bool, Change]]:
    method = case.model.quant_method
    pair = [s.option("--quantization") for s in (case.before.surface, case.after.surface)]
    old, new = pair
    if not method or old is None or new is None or not new.choices:
        return
    if method in old.choices and method not in new.choices:
        yield (
            True,
            Change(
                bite=Bite.WONT_START,
                subject="quantization",
                message=f"vllm {case.after.surface.version} no longer loads `{method}` checkpoints"
                " by itself",
                rests_on=_SURFACE,
                before=method,
                after="not among the methods",
                evidence=(new.source.evidence("values of --quantization"),),
            ),
        )


def _takes(specifier: str, version: str) -> bool | None:
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True) if specifier else None
    except InvalidSpecifier:
        return None


def _python(case: Case) -> Iterator[tuple[bool, Change]]:
    version = f"{case.deployment.box.python}.0"
    old = _takes(case.before.surface.python, version)
    new = _takes(case.after.surface.python, version)
    if new is False:
        yield (
            old is not False,
            Change(
                bite=Bite.WONT_START,
                subject="python",
                message=f"vllm {case.after.surface.version} asks for Python "
                f"{case.after.surface.python}, the box has {case.deployment.box.python}: pip does "
                "not install it",
                rests_on=_SURFACE,
                before=case.before.surface.python,
                after=case.after.surface.python,
            ),
        )


def _packages(case: Case) -> Iterator[tuple[bool, Change]]:
    for name, version in case.deployment.box.packages.items():
        answers = []
        for surface in (case.before.surface, case.after.surface):
            pins = [pin for pin in surface.pins if pin.name == name and pin.applies]
            answers.append(all(_takes(pin.specifier, version) is not False for pin in pins))
            wanted = ", ".join(pin.specifier for pin in pins)
        if not answers[1]:
            yield (
                answers[0],
                Change(
                    bite=Bite.BEHAVIOUR,
                    subject=name,
                    message=f"vllm {case.after.surface.version} asks for {name}{wanted}, the box "
                    f"has {version}",
                    rests_on=_SURFACE,
                    before=version,
                    after=wanted,
                ),
            )
