"""A first deployment for this checkpoint, artifact and box: proven before it is printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

import msgspec

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.progress import NoProgress
from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.errors import UsageError
from sparkproof.core.field_report import FieldRecord
from sparkproof.core.finding import Confidence, Finding, Severity
from sparkproof.core.ports import Progress
from sparkproof.core.refs import redact_url
from sparkproof.core.report import Report
from sparkproof.core.results.proof import Branch
from sparkproof.core.results.suggest import SuggestedLine, SuggestResult, Tried
from sparkproof.core.unknown import Unknown
from sparkproof.core.verdict import Criterion, Verdict, fold
from sparkproof.facts.advice import Purpose, parsers_of, purposes
from sparkproof.facts.book import find_device
from sparkproof.facts.gate_questions import find_question
from sparkproof.recipe.deployment_write import write_deployment
from sparkproof.recipe.selection_args import parse_selection_args
from sparkproof.usecases.checkpoint_reading import ReadCheckpoint, read_from
from sparkproof.usecases.envelope import make_report
from sparkproof.usecases.line_findings import surroundings_of
from sparkproof.usecases.prove.alternatives import prove_branches
from sparkproof.usecases.prove.arguments import find_refused_arguments, selection_args
from sparkproof.usecases.prove.findings import find_in_branches
from sparkproof.usecases.prove.summary import summarize
from sparkproof.usecases.reported import find_reports
from sparkproof.usecases.suggest.lines import (
    Wishes,
    arguments_of,
    has_draft_head,
    ladder_of,
    lines_of,
    soak_of,
)
from sparkproof.usecases.suggest.sizes import Sized, size_of, tenants_of
from sparkproof.usecases.suggest.ways import ways_around, ways_out
from sparkproof.usecases.trials import reported_here
from sparkproof.usecases.upgrade.sides import Opener, Side, Surfaces, is_number

_RANK = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.ERROR)


class Wanted(msgspec.Struct, frozen=True):
    """What the user asks for.

    Attributes:
        beside: deployments that share the box.
        context, sequences: 0 for the purpose's own.
        weights_gib: as a log prints them; None to take the shards'.
        output: where the caller saves the deployment ("" for nowhere), for what to type next.
    """

    checkpoint: str
    artifact: str
    purpose: str = "chat"
    device: str = "gb10"
    box: Box = Box()
    beside: tuple[Deployment, ...] = ()
    context: int = 0
    sequences: int = 0
    weights_gib: float | None = None
    output: str = ""


class _Candidate(msgspec.Struct, frozen=True):
    """One deployment that was proven.

    Attributes:
        reported: what people say of its picks, and `against` what speaks against them here.
        refused: what the release has against its arguments.
    """

    wishes: Wishes
    lines: tuple[SuggestedLine, ...]
    deployment: Deployment
    branches: tuple[Branch, ...]
    verdict: Verdict
    sized: Sized
    reported: tuple[Finding, ...]
    against: tuple[FieldRecord, ...]
    refused: tuple[Finding, ...]


def suggest(
    wanted: Wanted,
    *,
    surfaces: Surfaces,
    cache: ArtifactCache | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report[SuggestResult]:
    """Find the deployment that proves, with a reason for every line.

    Raises:
        UsageError: an unknown purpose or device, or a neighbour whose size can't be told.
        UnreachableError, FormatError: the checkpoint or the artifact can't be looked at.
    """
    purpose = _purpose(wanted)
    device = find_device(wanted.device)
    tenants = tenants_of(wanted.beside, wanted.device)
    box = msgspec.structs.replace(wanted.box, co_tenants={**wanted.box.co_tenants, **tenants})
    wanted = msgspec.structs.replace(wanted, box=box)
    checkpoint = read_from(wanted.checkpoint, offline=offline, cache=cache)
    opener = Opener(
        device.capability,
        box,
        (checkpoint.profile,),
        surfaces=surfaces,
        cache=cache,
        offline=offline,
        progress=progress or NoProgress(),
    )
    side = opener.open(wanted.artifact, by_number=is_number(wanted.artifact))
    tried = _try_all(wanted, purpose, checkpoint, side)
    return _report(wanted, purpose, checkpoint, side, tried)


def _purpose(wanted: Wanted) -> Purpose:
    found = purposes().get(wanted.purpose)
    if found is None:
        known = ", ".join(purposes())
        raise UsageError(f"unknown purpose `{wanted.purpose}`", hint=f"one of {known}")
    changes = {
        name: value
        for name, value in (("context", wanted.context), ("sequences", wanted.sequences))
        if value
    }
    return msgspec.structs.replace(found, **changes)


def _try_all(
    wanted: Wanted, purpose: Purpose, checkpoint: ReadCheckpoint, side: Side
) -> list[_Candidate]:
    """Candidates until one passes; the best of them comes last.

    What is wished for comes first, so a pass at a price (compiled at first use, say) is taken and
    its price told. Ways out are tried where everything plain fails, or hangs
    on something that they avoid; and where what passes is reported against on this device, what
    the reports name instead.
    """
    tried: list[_Candidate] = []

    def passes(wishes: Wishes) -> bool:
        tried.append(_prove(wanted, purpose, checkpoint, side, wishes))
        return tried[-1].verdict is Verdict.PASS

    surface = side.seen.surface
    found = any(map(passes, _wishes(checkpoint, purpose)))
    if not found and all(item.verdict is Verdict.FAIL or _hangs(item.branches) for item in tried):
        found = any(map(passes, ways_out([item.wishes for item in tried], surface)))
    if not found:
        best = min(tried, key=lambda item: (_RANK.index(item.verdict), _hangs(item.branches)))
        return _last(best, tried)
    best = tried[-1]
    for wishes in ways_around(best.wishes, best.against, surface):
        if passes(wishes) and len(tried[-1].against) < len(best.against):
            return tried
    return _last(best, tried)


def _last(best: _Candidate, tried: Sequence[_Candidate]) -> list[_Candidate]:
    return [*(item for item in tried if item is not best), best]


def _hangs(branches: Sequence[Branch]) -> bool:
    """Whether some pick hangs on a question that an operator has a way around."""
    found = [layer.prediction for branch in branches for layer in branch.layers]
    open_ones = [item for item in found if item and not item.selected and not item.error]
    return any(find_question(g) for item in open_ones for step in item.steps for g in step.gates)


def _wishes(checkpoint: ReadCheckpoint, purpose: Purpose) -> Iterator[Wishes]:
    """From the one that is wished for down to the plainest."""
    drafts = (True, False) if purpose.drafts and has_draft_head(checkpoint.profile) else (False,)
    caches = (False,) if checkpoint.profile.kv_cache_scheme else (True, False)
    for draft in drafts:
        yield from (Wishes(cache, draft) for cache in caches)


def _prove(
    wanted: Wanted,
    purpose: Purpose,
    checkpoint: ReadCheckpoint,
    side: Side,
    wishes: Wishes,
) -> _Candidate:
    profile, surface = checkpoint.profile, side.seen.surface

    def build(sized: Sized) -> tuple[tuple[SuggestedLine, ...], Deployment]:
        lines = lines_of(surface, profile, purpose, wishes, sized.numbers)
        deployment = Deployment(
            checkpoint=wanted.checkpoint,
            artifact=pinned(wanted.artifact, side),
            name=f"{profile.name.removesuffix('.json')}-{purpose.id}",
            device=wanted.device,
            args=arguments_of(lines),
            env=dict(wishes.variables),
            box=side.seen.box_of(wanted.box),
            weights_gib=wanted.weights_gib,
        )
        return lines, deployment

    sized = size_of(build, purpose, profile, side.version, wanted.weights_gib)
    lines, deployment = build(sized)
    look = side.seen.look_at(profile, deployment.env)
    arguments = selection_args(look.surface, deployment.args)
    branches = prove_branches(look, deployment.box, arguments)
    device = find_device(wanted.device).device_class
    beside = surroundings_of(deployment, checkpoint.files)
    refused = find_refused_arguments(look.surface, deployment.args, beside=beside)
    verdict = fold((*_verdicts(branches, delivery=look.code_read), sized.verdict))
    return _Candidate(
        wishes,
        lines,
        deployment,
        branches,
        Verdict.FAIL if refused else verdict,
        sized,
        reported=find_reports(look, branches, arguments, device),
        against=tuple(reported_here(look, branches, arguments, device)),
        refused=refused,
    )


def _verdicts(branches: Sequence[Branch], *, delivery: bool) -> Iterator[Verdict]:
    """Of the layers; without device code, of the selection alone."""
    for branch in branches:
        for layer in branch.layers:
            prediction = layer.prediction
            if delivery or prediction is None:
                known = (
                    delivery or layer.verdict is not Verdict.INCONCLUSIVE or not layer.deliveries
                )
                yield layer.verdict if known else Verdict.PASS
            elif prediction.selected:
                yield Verdict.PASS
            else:
                yield Verdict.FAIL if prediction.error else layer.verdict


def pinned(artifact: str, side: Side) -> str:
    """The artifact so that it stays what it was: an exact version, or an image by digest."""
    subject = side.subject
    if is_number(artifact) or (subject is None and side.version):
        return f"vllm=={side.version}"
    if subject is None or "@" in artifact:
        return artifact
    if artifact.startswith("image:") and subject.identity.startswith("sha256:"):
        return f"{artifact}@{subject.identity}"
    bare = not any(mark in artifact for mark in ("/", ".whl", "==", ":"))
    return f"vllm=={side.version}" if bare else artifact


def _report(
    wanted: Wanted,
    purpose: Purpose,
    checkpoint: ReadCheckpoint,
    side: Side,
    tried: Sequence[_Candidate],
) -> Report[SuggestResult]:
    best = tried[-1]
    delivery = side.seen.code is not None
    verdict = best.verdict
    if not delivery and verdict is Verdict.PASS:
        verdict = Verdict.INCONCLUSIVE
    artifact = SuggestedLine(
        "artifact", best.deployment.artifact, "pinned: a name alone moves", "release surface"
    )
    lines = (artifact, *best.lines)
    reasons = {line.name: f"{line.reason} [{line.rests_on}]" for line in lines if not line.left_out}
    result = SuggestResult(
        purpose=purpose.title,
        release=side.version,
        deployment=best.deployment,
        toml=write_deployment(best.deployment, reasons),
        verdict=verdict,
        lines=lines,
        ladder=ladder_of(best.lines, best.sized.numbers.sequences),
        soak=soak_of(best.lines, checkpoint.profile),
        tried=tuple(Tried(item.deployment.args, item.verdict, _why(item)) for item in tried),
        plan=best.sized.plan,
    )
    return make_report(
        "suggest",
        result,
        verdict=verdict,
        summary=_summary(best, verdict, delivery=delivery),
        subjects=tuple(s for s in (checkpoint.subject, side.subject) if s is not None),
        criteria=(Criterion("suggest/proof", best.verdict, _why(best)),),
        findings=_findings(wanted, purpose, checkpoint, best, delivery=delivery),
        unknowns=_unknowns(checkpoint, side),
        next_steps=_next_steps(wanted, side, verdict, delivery=delivery),
    )


def _why(item: _Candidate) -> str:
    if item.refused:
        return item.refused[0].message
    return item.sized.trouble or summarize(item.branches)


def _summary(best: _Candidate, verdict: Verdict, *, delivery: bool) -> str:
    if verdict is Verdict.PASS:
        return f"proves: {summarize(best.branches)}"
    if not delivery and best.verdict is Verdict.PASS:
        return "the release selects a kernel for every layer; device code was not looked at"
    return f"nothing proves: {_why(best)}"


def _findings(
    wanted: Wanted,
    purpose: Purpose,
    checkpoint: ReadCheckpoint,
    best: _Candidate,
    *,
    delivery: bool,
) -> tuple[Finding, ...]:
    found: list[Finding] = []
    name = checkpoint.profile.name
    if best.verdict is not Verdict.PASS:
        found.append(_finding("suggest/unproven", Severity.WARNING, _why(best), name))
    arguments = parse_selection_args(best.deployment.args)
    found += [
        item
        for item in find_in_branches(best.branches, arguments)
        if delivery or not item.rule.startswith("deliver/")
    ]
    found += [item for item in best.reported if item.severity is Severity.WARNING]
    if not best.sized.numbers.share:
        found.append(
            _finding("suggest/not-sized", Severity.INFO, best.sized.unsized, wanted.checkpoint)
        )
    names = {line.name for line in best.lines}
    missing = [
        word
        for flag, word, asked in (
            ("--tool-call-parser", "tool calls", purpose.tools),
            ("--reasoning-parser", "reasoning", purpose.thinks),
        )
        if asked and flag not in names
    ]
    if missing:
        family = checkpoint.profile.model_type or "this family"
        known = "has none of its parsers" if parsers_of(family) else "nobody has noted one"
        told = f"no parser for {' and '.join(missing)} of {family}: {known}"
        found.append(_finding("suggest/no-parser", Severity.INFO, told, name))
    return tuple(found)


def _finding(rule: str, severity: Severity, message: str, subject: str) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        confidence=Confidence.SHOWN,
        message=message,
        subject=subject,
    )


def _unknowns(checkpoint: ReadCheckpoint, side: Side) -> tuple[Unknown, ...]:
    unread = side.seen.code.unknowns if side.seen.code is not None else ()
    return (*checkpoint.profile.unknowns, *side.seen.surface.unknowns, *unread)


def _next_steps(wanted: Wanted, side: Side, verdict: Verdict, *, delivery: bool) -> tuple[str, ...]:
    if not delivery:
        again = f"sparkproof suggest {quote(wanted.checkpoint)} --artifact vllm=={side.version}"
        return (f"{again}  # looks at the device code as well",)
    if verdict is Verdict.PASS:
        then = "for the receipt; then smoke and soak"
        if wanted.output:
            return (f"sparkproof prove {quote(wanted.output)}  # {then}",)
        return (f"the same with -o deployment.toml, then prove deployment.toml  # {then}",)
    chosen = f"{quote(wanted.checkpoint)} --artifact {quote(redact_url(wanted.artifact))}"
    return (f"sparkproof select {chosen}  # shows every candidate and its reason",)
