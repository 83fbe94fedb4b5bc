"""Prediction against boot log, line by line."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sparkproof.bootlog.compare_device import OTHER_DEVICE, ExpectedDevice, compare_device
from sparkproof.bootlog.diagnosis import caches_prefixes, speculates
from sparkproof.core.observations.boot_log import BackendSeen, BootLog
from sparkproof.core.redaction import mask_named
from sparkproof.core.results.proof import Agreement

_CLOSE = 0.02
"""Relative difference that counts as agreement for sizes that are estimated."""
_PRINTED = 0.0051
"""Half of the last digit that the log prints of a concurrency."""
_LOADED, _LOADED_GIB = 0.25, 0.05
"""What loading adds to or takes from the shards' bytes: layouts, padding, tied heads, buffers.
Another model or number of bits is further off."""
_BLOCK, _POOL = "block size", "KV GiB"
_OF_DEVICE = (_BLOCK, _POOL)
"""What a device settles; weights and the cut of a given pool are the checkpoint's on any."""
OTHER_RELEASE = "another release"


class ExpectedBackend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One predicted choice; `scheme` as the log words it, "" for any; `draft`: the drafter's."""

    layer_class: str
    backend: str
    scheme: str = ""
    draft: bool = False


class Expectation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a proof says the log will print; None or "" where it says nothing."""

    version: str = ""
    device: ExpectedDevice | None = None
    backends: tuple[ExpectedBackend, ...] = ()
    weights_gib: float | None = None
    block_size: int | None = None
    kv_gib: float | None = None
    kv_tokens: int | None = None
    max_concurrency: float | None = None
    features: dict[str, bool] = {}
    flags: dict[str, str] = {}


def compare_boot(expected: Expectation, boot: BootLog) -> tuple[Agreement, ...]:
    """Every predicted fact beside the observed one."""
    other_release = bool(
        expected.version and boot.version and not same_version(expected.version, boot.version)
    )
    found = []
    other = OTHER_RELEASE if other_release else ""
    if expected.version:
        agrees = None if not boot.version else not other_release
        likely = f"{other} or image than the one that was proven" if other else ""
        found.append(Agreement("version", expected.version, boot.version, agrees, likely))
    if expected.device is not None:
        device = compare_device(expected.device, boot)
        other = other or (OTHER_DEVICE if device.agrees is False else "")
        found.append(device)
    flags = (_flag(name, value, boot) for name, value in expected.flags.items())
    found += [row for row in flags if row is not None]
    found += [_backend(item, expected.backends, boot, other) for item in expected.backends]
    found += _numbers(expected, boot, other)
    found += [_feature(name, on, boot, other) for name, on in expected.features.items()]
    return tuple(found)


def same_version(left: str, right: str) -> bool:
    """Whether two version strings name one build; a local part counts where both have one."""
    if "+" in left and "+" in right:
        return left == right
    return left.partition("+")[0] == right.partition("+")[0]


def backend_name(item: ExpectedBackend) -> str:
    """What the row of one predicted choice is called."""
    name = f"{item.layer_class} {item.scheme}".rstrip()
    return f"{name} (draft)" if item.draft else name


def _backend(
    item: ExpectedBackend, expected: Sequence[ExpectedBackend], boot: BootLog, other: str
) -> Agreement:
    name = backend_name(item)
    every = [
        b for b in boot.backends if b.layer_class == item.layer_class and _same_scheme(item, b)
    ]
    seen = [b for b in every if b.draft == item.draft] or _unmarked(item, expected, every)
    if not seen:
        return Agreement(name, item.backend, "", None, "the log does not say")
    for one in seen:
        if one.backend.lower() == item.backend.lower():
            return Agreement(name, item.backend, one.backend, True, line=one.line)
    one = seen[0]
    return Agreement(name, item.backend, one.backend, False, _why(one, item, boot, other), one.line)


def _unmarked(
    item: ExpectedBackend, expected: Sequence[ExpectedBackend], seen: Sequence[BackendSeen]
) -> list[BackendSeen]:
    """The drafter's line in a log that does not say where the drafter begins.

    It is known by its backend alone, and only where nothing of the target is expected to print
    the same one; so it can agree and never differ.
    """
    if not item.draft or msgspec.structs.replace(item, draft=False) in expected:
        return []
    return [one for one in seen if one.backend.lower() == item.backend.lower()]


def _same_scheme(item: ExpectedBackend, seen: BackendSeen) -> bool:
    """Dense layers of several schemes stand side by side; elsewhere no scheme means any."""
    if item.layer_class == "linear" or item.scheme:
        return seen.scheme == item.scheme
    return True


def _why(one: BackendSeen, item: ExpectedBackend, boot: BootLog, other: str) -> str:
    if other:
        return f"{other}: its order of candidates differs"
    for argument in ("moe_backend", "linear_backend", "attention_backend"):
        value = boot.argument(argument)
        if value and value.lower().replace("_", "") in one.backend.lower().replace("_", ""):
            return f"--{argument.replace('_', '-')} {value} forces it"
    if item.backend in one.passed_over:
        return _why_passed_over(one, boot)
    if one.candidates and item.backend not in one.candidates:
        return "the predicted candidate is not in this build's list"
    return "other flags, environment or packages than the proof assumed"


def _why_passed_over(one: BackendSeen, boot: BootLog) -> str:
    """A log lists all candidates where a flag names one too, and never the environment."""
    refused = "refused at run time, its package or kernel missing"
    forced = "a variable" if boot.arguments else "a flag or variable"
    return (
        f"the predicted candidate was passed over: {forced} that was not proven forces "
        f"{one.backend}, or it was {refused}"
    )


def _numbers(expected: Expectation, boot: BootLog, other: str) -> list[Agreement]:
    weights = expected.weights_gib
    rows = (
        (
            "weights GiB",
            weights,
            ("load_gib", "weights_gib"),
            _LOADED_GIB + _LOADED * (weights or 0),
        ),
        (_BLOCK, expected.block_size, ("block_size",), 0.0),
        (_POOL, expected.kv_gib, ("kv_available_gib", "kv_reserved_gib", "kv_cpu_gib"), None),
        ("KV tokens", expected.kv_tokens, ("kv_tokens",), 0.0),
        ("maximum concurrency", expected.max_concurrency, ("max_concurrency_x",), _PRINTED),
    )
    found = []
    for name, predicted, names, play in rows:
        value = next((v for n in names if (v := boot.number_of(n)) is not None), None)
        if predicted is None:
            if value is not None and name != _BLOCK:
                found.append(Agreement(name, "", _number(value), None, "nothing was predicted"))
            continue
        told = _number(predicted)
        if value is None:
            found.append(Agreement(name, told, "", None, "the log does not say"))
            continue
        allowed = _CLOSE * max(abs(predicted), 1e-9) if play is None else play
        agrees = abs(value - predicted) <= allowed
        likely = "" if agrees else _why_number(name, predicted, value, boot, other)
        found.append(Agreement(name, told, _number(value), agrees, likely))
    return found


def _number(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.2f}"


def _flag(name: str, wanted: str, boot: BootLog) -> Agreement | None:
    """One argument beside what the server says it parsed; None where it is not told."""
    observed = boot.argument(name.removeprefix("--").replace("-", "_"))
    if observed is None or wanted.startswith("{"):
        return None
    agrees = _listed(observed, wanted) or plain_value(observed) == plain_value(wanted)
    likely = "" if agrees else "the server was started with other arguments"
    return Agreement(name, mask_named(name, wanted), mask_named(name, observed), agrees, likely)


def _listed(observed: str, wanted: str) -> bool:
    """Whether a flag of several values is logged as the list of those that were given."""
    if not (observed.startswith("[") and observed.endswith("]")):
        return False
    logged = [plain_value(item) for item in observed[1:-1].split(",")]
    return logged == [plain_value(word) for word in wanted.split()]


def plain_value(value: str) -> str:
    """A flag's value as it compares: quotes, case, hyphens and the look of numbers left out."""
    text = value.strip().strip("'\"").lower().replace("-", "_")
    try:
        return repr(float(text))
    except ValueError:
        return text


def _why_number(name: str, predicted: float, value: float, boot: BootLog, other: str) -> str:
    if other and (other != OTHER_DEVICE or name in _OF_DEVICE):
        return other
    estimate = boot.number_of("graph_estimate_gib")
    if name.startswith("KV") and estimate is not None and estimate < -1:
        return f"the graph estimate of {estimate} GiB was added to the pool"
    if name == _POOL:
        return "a co-tenant holds memory" if value < predicted else "less was loaded or profiled"
    if name in ("KV tokens", "maximum concurrency"):
        return "the checkpoint differs, or prefix caching, speculation or the KV type do"
    return "other weights, flags or quantization than the proof assumed"


def _feature(name: str, on: bool, boot: BootLog, other: str) -> Agreement:
    observed, line, why = _observed_feature(name, boot)
    word = {True: "on", False: "off", None: ""}
    if observed is None:
        return Agreement(name, word[on], "", None, "the log does not say")
    likely = "" if observed is on else why or other or "other flags"
    return Agreement(name, word[on], word[observed], observed is on, likely, line)


def _observed_feature(name: str, boot: BootLog) -> tuple[bool | None, int, str]:
    stated = [f for f in boot.features if f.feature == name]
    if stated:
        last = stated[-1]
        return last.on, last.line, last.why
    if name == "prefix_caching":
        return caches_prefixes(boot), 0, ""
    if name == "speculation":
        return speculates(boot), 0, ""
    return None, 0, ""
